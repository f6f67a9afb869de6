// Level 2: element-wise operations have one result each, as what follows expects.
//
// Before:
//   %m, %y = linalg.generic ins(%x) outs(%a, %b) { yield %max, %quotient }
// After:
//   %m = linalg.generic ins(%x, %a, %b) outs(%a) { yield %max }
//   %y = linalg.generic ins(%x, %a, %b) outs(%b) { yield %quotient }
//
// Such operations come of reductions over a single element. Values that both compute are written
// once if they share a launch; unused ones are dropped.
#include "target/cuda/Passes.h"
#include "transform/kernels/KernelStages.h"
#include "transform/recipe/KernelModel.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_CUDASPLITRESULTSPASS
#include "target/cuda/Passes.h.inc"

namespace {

/// The operation with one of its results alone.
Value withResult(OpBuilder &b, linalg::GenericOp op, unsigned number) {
  SmallVector<Value> inputs(op.getInputs());
  llvm::append_range(inputs, op.getOutputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  maps.push_back(op.getIndexingMapMatchingResult(op->getResult(number)));
  auto one = b.create<linalg::GenericOp>(
      op.getLoc(), op->getResult(number).getType(), inputs, op.getOutputs()[number], maps,
      op.getIteratorTypesArray(), [&](OpBuilder &inner, Location loc, ValueRange arguments) {
        IRMapping mapping;
        for (auto [before, after] : llvm::zip(op.getBody()->getArguments(), arguments))
          mapping.map(before, after);
        for (Operation &each : op.getBody()->without_terminator())
          inner.clone(each, mapping);
        Value yielded = op.getBody()->getTerminator()->getOperand(number);
        inner.create<linalg::YieldOp>(loc, mapping.lookupOrDefault(yielded));
      });
  one->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  if (StringRef stage = stageOf(op); !stage.empty())
    one->setAttr(kStageAttr, b.getStringAttr(stageOfResult(stage, number)));
  return one.getResult(0);
}

struct CudaSplitResultsPass : impl::CudaSplitResultsPassBase<CudaSplitResultsPass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> several;
    getOperation().walk([&](linalg::GenericOp op) {
      if (op.getNumResults() > 1 && op.getNumReductionLoops() == 0)
        several.push_back(op);
    });
    for (linalg::GenericOp op : several) {
      OpBuilder b(op);
      for (OpResult result : op->getResults())
        if (!result.use_empty())
          result.replaceAllUsesWith(withResult(b, op, result.getResultNumber()));
      op.erase();
    }
  }
};

} // namespace
} // namespace headrace
