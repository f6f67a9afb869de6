// Level 4: gives kernels the signature the runtime calls (KernelFn of runtime/program/Program.h).
//
// Before:
//   func.func @k(%in: memref<?x8xf32>, %out: memref<?x8xf32>, %begin: index, %end: index,
//                %workspace: memref<?xi8>) -> index { ... hr.size (s0) ... }
// After:
//   func.func @k(%buffers: !llvm.ptr, %symbols: !llvm.ptr, %begin: i64, %end: i64,
//                %workspace: !llvm.ptr) -> i64
//
// Buffers are bare pointers; their sizes are constants or follow from the symbols.
#include "dialect/Hr.h"
#include "target/cpu/Passes.h"
#include "transform/Passes.h"

#include "mlir/Conversion/LLVMCommon/MemRefBuilder.h"
#include "mlir/Conversion/LLVMCommon/TypeConverter.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CPUKERNELABIPASS
#include "target/cpu/Passes.h.inc"

namespace {

/// Rewrites one kernel function in place.
class AbiBuilder {
public:
  AbiBuilder(func::FuncOp kernel)
      : kernel(kernel), loc(kernel.getLoc()), b(kernel.getContext()),
        converter(kernel.getContext()) {}

  void run() {
    // Dynamic sizes of the arguments are recorded before they go.
    Block &body = kernel.getBody().front();
    auto pointer = LLVM::LLVMPointerType::get(b.getContext());
    Type i64 = b.getI64Type();
    SmallVector<BlockArgument> old(body.getArguments());
    SmallVector<Type> types{pointer, pointer, i64, i64, pointer};
    SmallVector<Value> fresh;
    for (Type type : types)
      fresh.push_back(body.addArgument(type, loc));
    Value buffers = fresh[0];
    symbols = fresh[1];
    b.setInsertionPointToStart(&body);
    lowerSizes();
    b.setInsertionPointToStart(&body);

    size_t memories = old.size() - 3;
    for (size_t i = 0; i < memories; ++i) {
      Value address = b.create<LLVM::GEPOp>(loc, pointer, pointer, buffers,
                                            ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
      Value data = b.create<LLVM::LoadOp>(loc, pointer, address);
      old[i].replaceAllUsesWith(memoryAt(data, cast<MemRefType>(old[i].getType()),
                                         kernel.getArgAttrOfType<AffineMapAttr>(i, kSizesAttr)));
    }
    for (size_t i = 0; i < 2; ++i)
      old[memories + i].replaceAllUsesWith(
          b.create<arith::IndexCastOp>(loc, b.getIndexType(), fresh[2 + i]));
    auto workspaceType = cast<MemRefType>(old.back().getType());
    old.back().replaceAllUsesWith(memoryAt(fresh[4], workspaceType, {}));
    body.eraseArguments(0, old.size());

    auto ret = cast<func::ReturnOp>(body.getTerminator());
    b.setInsertionPoint(ret);
    Value cells = b.create<arith::IndexCastOp>(loc, i64, ret.getOperand(0));
    ret.getOperandsMutable().assign(cells);
    kernel.setFunctionType(b.getFunctionType(types, {i64}));
    kernel.setAllArgAttrs(ArrayRef<DictionaryAttr>(
        SmallVector<DictionaryAttr>(types.size(), b.getDictionaryAttr({}))));
  }

private:
  /// A memref over a bare pointer.
  Value memoryAt(Value data, MemRefType type, AffineMapAttr sizeMap) {
    MemRefDescriptor descriptor = MemRefDescriptor::undef(b, loc, converter.convertType(type));
    descriptor.setAllocatedPtr(b, loc, data);
    descriptor.setAlignedPtr(b, loc, data);
    descriptor.setConstantOffset(b, loc, 0);
    Value stride = constant(1);
    for (int64_t i = type.getRank() - 1; i >= 0; --i) {
      Value size;
      if (!type.isDynamicDim(i))
        size = constant(type.getDimSize(i));
      else if (sizeMap)
        size = evaluate(sizeMap.getValue().getResult(i));
      else
        size = constant(0); // the workspace: views of it state their own sizes
      descriptor.setSize(b, loc, i, size);
      descriptor.setStride(b, loc, i, stride);
      if (i > 0)
        stride = b.create<LLVM::MulOp>(loc, stride, size);
    }
    return b.create<UnrealizedConversionCastOp>(loc, type, Value(descriptor)).getResult(0);
  }

  Value constant(int64_t value) {
    return b.create<LLVM::ConstantOp>(loc, b.getI64Type(), b.getI64IntegerAttr(value));
  }

  /// Toward minus infinity, as affine maps round: a window that does not fit leaves (2 - 3) / 2 + 1
  /// = 0 positions. Divisors are positive.
  Value floorDivide(Value lhs, Value rhs) {
    Value negative = b.create<LLVM::ICmpOp>(loc, LLVM::ICmpPredicate::slt, lhs, constant(0));
    Value down = b.create<LLVM::SubOp>(loc, lhs, b.create<LLVM::SubOp>(loc, rhs, constant(1)));
    return b.create<LLVM::SDivOp>(loc, b.create<LLVM::SelectOp>(loc, negative, down, lhs), rhs);
  }

  Value evaluate(AffineExpr expr) {
    if (auto number = dyn_cast<AffineConstantExpr>(expr))
      return constant(number.getValue());
    if (auto symbol = dyn_cast<AffineSymbolExpr>(expr)) {
      auto pointer = LLVM::LLVMPointerType::get(b.getContext());
      Value address =
          b.create<LLVM::GEPOp>(loc, pointer, b.getI64Type(), symbols,
                                ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(symbol.getPosition())});
      return b.create<LLVM::LoadOp>(loc, b.getI64Type(), address);
    }
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = evaluate(binary.getLHS()), rhs = evaluate(binary.getRHS());
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      return b.create<LLVM::AddOp>(loc, lhs, rhs);
    case AffineExprKind::Mul:
      return b.create<LLVM::MulOp>(loc, lhs, rhs);
    case AffineExprKind::Mod:
      return b.create<LLVM::SubOp>(loc, lhs,
                                   b.create<LLVM::MulOp>(loc, floorDivide(lhs, rhs), rhs));
    case AffineExprKind::FloorDiv:
      return floorDivide(lhs, rhs);
    default: { // ceildiv
      Value up = b.create<LLVM::SubOp>(loc, b.create<LLVM::AddOp>(loc, lhs, rhs), constant(1));
      return floorDivide(up, rhs);
    }
    }
  }

  /// All sizes are computed once, at entry.
  void lowerSizes() {
    SmallVector<hr::SizeOp> sizes;
    kernel.walk([&](hr::SizeOp size) { sizes.push_back(size); });
    llvm::DenseMap<AffineExpr, Value> known;
    for (hr::SizeOp size : sizes) {
      Value &value = known[size.getExpr().getResult(0)];
      if (!value)
        value = b.create<arith::IndexCastOp>(loc, b.getIndexType(),
                                             evaluate(size.getExpr().getResult(0)));
      size.replaceAllUsesWith(value);
      size.erase();
    }
  }

  func::FuncOp kernel;
  Location loc;
  OpBuilder b;
  LLVMTypeConverter converter;
  Value symbols;
};

struct CpuKernelAbiPass : impl::CpuKernelAbiPassBase<CpuKernelAbiPass> {
  void getDependentDialects(DialectRegistry &registry) const override {
    registry.insert<LLVM::LLVMDialect, arith::ArithDialect>();
  }

  void runOnOperation() override {
    for (func::FuncOp kernel : getOperation().getOps<func::FuncOp>())
      if (!kernel.isExternal())
        AbiBuilder(kernel).run();
  }
};

} // namespace
} // namespace headrace
