// Level 2: products of f16 and bf16 are accumulated in f32, and rounded once.
//
// Before:
//   %c = linalg.generic ins(%a, %b) outs(%zero) { yield %sum + %a * %b }        // all bf16
// After:
//   %s = linalg.generic ins(%a, %b) outs(%zero) { yield %sum + extf(%a) * extf(%b) }    // f32
//   %c = linalg.generic ins(%s) outs(%e) { yield truncf(%s) }
//
// Operands stay narrow, as memory wants them; ComputeInF32 has decided the rest. Products on
// tensor cores stay as they are: those accumulate in f32 by themselves, and results go through
// shared memory in the type they are stored in.
#include "dialect/scalar/HalfPrecision.h"
#include "target/cuda/Passes.h"
#include "target/cuda/schedule/ChooseSchedule.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDASUMINSINGLEPASS
#include "target/cuda/Passes.h.inc"

namespace {

/// The initial value of the sum, if it is a sum of products in f16 and bf16.
linalg::FillOp startOfHalfSum(linalg::GenericOp op) {
  if (op.getNumReductionLoops() == 0 || op.getNumDpsInits() != 1 || !isHalf(op.getType(0)))
    return {};
  auto sum = op.getBody()->getTerminator()->getOperand(0).getDefiningOp<arith::AddFOp>();
  bool multiplies = sum && llvm::all_of(op.getBody()->without_terminator(), [](Operation &each) {
                      return isa<arith::AddFOp, arith::MulFOp>(each);
                    });
  return multiplies ? op.getOutputs()[0].getDefiningOp<linalg::FillOp>() : linalg::FillOp();
}

void sumInSingle(linalg::GenericOp op, linalg::FillOp start) {
  OpBuilder b(op);
  Location loc = op.getLoc();
  Type single = b.getF32Type();
  auto type = cast<RankedTensorType>(op.getType(0));
  Value target = start.getOutputs()[0];
  Value empty = b.create<tensor::EmptyOp>(loc, tensor::getMixedSizes(b, loc, target), single);
  Value zero = b.create<arith::ExtFOp>(loc, single, start.getInputs()[0]);
  Value wideStart = b.create<linalg::FillOp>(loc, zero, empty).getResult(0);
  auto wide = b.create<linalg::GenericOp>(
      loc, wideStart.getType(), op.getInputs(), wideStart, op.getIndexingMapsArray(),
      op.getIteratorTypesArray(), [&](OpBuilder &inner, Location, ValueRange arguments) {
        IRMapping mapping;
        for (auto [before, after] : llvm::zip(op.getBody()->getArguments(), arguments))
          mapping.map(before, isHalf(after.getType()) && !before.use_empty()
                                  ? inner.create<arith::ExtFOp>(loc, single, after).getResult()
                                  : after);
        for (Operation &each : op.getBody()->without_terminator())
          inner.clone(each, mapping)->getResult(0).setType(single);
        inner.create<linalg::YieldOp>(loc,
                                      mapping.lookup(op.getBody()->getTerminator()->getOperand(0)));
      });
  wide->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  AffineMap same = b.getMultiDimIdentityMap(type.getRank());
  auto rounded = b.create<linalg::GenericOp>(
      loc, type, wide.getResult(0), target, ArrayRef<AffineMap>{same, same},
      SmallVector<utils::IteratorType>(type.getRank(), utils::IteratorType::parallel),
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        inner.create<linalg::YieldOp>(
            loc,
            inner.create<arith::TruncFOp>(loc, type.getElementType(), arguments[0]).getResult());
      });
  if (StringRef stage = stageOf(op); !stage.empty())
    rounded->setAttr(kStageAttr, b.getStringAttr((stage + "_rounded").str()));
  op.getResult(0).replaceAllUsesWith(rounded.getResult(0));
  op.erase();
}

struct CudaSumInSinglePass : impl::CudaSumInSinglePassBase<CudaSumInSinglePass> {
  void runOnOperation() override {
    SmallVector<std::pair<linalg::GenericOp, linalg::FillOp>> sums;
    getOperation().walk([&](linalg::GenericOp op) {
      linalg::FillOp start = startOfHalfSum(op);
      if (start && !cuda::addsUpOnTensorCores(op))
        sums.emplace_back(op, start);
    });
    for (auto [op, start] : sums)
      sumInSingle(op, start);
  }
};

} // namespace
} // namespace headrace
