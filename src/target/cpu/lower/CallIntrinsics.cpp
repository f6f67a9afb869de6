// Level 4: calls of the user's functions if recipes ask for intrinsics.
//
// Before:
//   linalg.generic {hr.intrinsic = "gemm8x8", hr.intrinsic_dims = [0, 1, 2]}
//     ins(%a, %b : memref<8x8xf32, strided<...>>, ...) outs(%c : memref<8x8xf32, strided<...>>)
// After:
//   llvm.call @headrace_intrinsic_gemm8x8(%a, 64, 1, %b, 32, 1, %c, 32, 1)
//
// An intrinsic without a function stays what it is: plain loops.
#include "target/cpu/Passes.h"
#include "transform/recipe/Intrinsic.h"
#include "transform/recipe/Rewriting.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUCALLINTRINSICSPASS
#include "target/cpu/Passes.h.inc"

namespace {

struct CpuCallIntrinsicsPass : impl::CpuCallIntrinsicsPassBase<CpuCallIntrinsicsPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, memref::MemRefDialect>();
  }

  void runOnOperation() override {
    SmallVector<linalg::GenericOp> ops;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op->hasAttr(kIntrinsicAttr))
        ops.push_back(op);
    });
    for (linalg::GenericOp op : ops) {
      auto name = op->getAttrOfType<StringAttr>(kIntrinsicAttr);
      std::optional<Intrinsic> intrinsic = findIntrinsic(name.str());
      if (intrinsic && intrinsic->function)
        call(op, *intrinsic);
    }
  }

private:
  void call(linalg::GenericOp op, const Intrinsic &intrinsic) {
    OpBuilder b(op);
    std::string symbol = intrinsic.symbol();
    SmallVector<Value> arguments;
    for (auto [operand, read] : llvm::zip(op.getDpsInputOperands(), intrinsic.pattern.reads))
      addOperand(b, op, *operand, read.dims, arguments);
    addOperand(b, op, *op.getDpsInitOperand(0), intrinsic.pattern.resultDims(), arguments);
    auto type = LLVM::LLVMFunctionType::get(
        LLVM::LLVMVoidType::get(&getContext()),
        llvm::map_to_vector(arguments, [](Value argument) { return argument.getType(); }));
    if (!getOperation().lookupSymbol(symbol)) {
      OpBuilder top = OpBuilder::atBlockBegin(getOperation().getBody());
      top.create<LLVM::LLVMFuncOp>(op.getLoc(), symbol, type);
    }
    b.create<LLVM::CallOp>(op.getLoc(), type, symbol, arguments);
    op.erase();
  }

  /// Where the operand's tile begins, and the distances along the dimensions that the intrinsic
  /// knows, in its order.
  void addOperand(OpBuilder &b, linalg::GenericOp op, OpOperand &operand,
                  const std::vector<ReadDim> &wanted, SmallVector<Value> &arguments) {
    Location loc = op.getLoc();
    auto pointer = LLVM::LLVMPointerType::get(&getContext());
    auto toInteger = [&](Value index) -> Value {
      return b.create<arith::IndexCastOp>(loc, b.getI64Type(), index);
    };
    auto metadata = b.create<memref::ExtractStridedMetadataOp>(loc, operand.get());
    Value address = b.create<memref::ExtractAlignedPointerAsIndexOp>(loc, metadata.getBaseBuffer());
    Value base = b.create<LLVM::IntToPtrOp>(loc, pointer, toInteger(address));
    Type element = getElementTypeOrSelf(operand.get().getType());
    arguments.push_back(b.create<LLVM::GEPOp>(loc, pointer, element, base,
                                              ValueRange{toInteger(metadata.getOffset())}));
    auto axes = op->getAttrOfType<ArrayAttr>(kIntrinsicDimsAttr);
    AffineMap map = op.getMatchingIndexingMap(&operand);
    for (const ReadDim &dim : wanted) {
      // Packing may have put the operand's dimensions into another order.
      auto walks = [&](AffineExpr expr) {
        return llvm::all_of(dim.terms, [&](auto term) {
          return expr.isFunctionOfDim(cast<IntegerAttr>(axes[term.first]).getInt());
        });
      };
      auto at = llvm::find_if(map.getResults(), walks) - map.getResults().begin();
      arguments.push_back(toInteger(metadata.getStrides()[at]));
    }
  }
};

} // namespace
} // namespace headrace
