// Level 1: chains of maps become one map.
//
//   %a = hr.map(%x) { softplus } ; %b = hr.map(%a) { tanh } ; %y = hr.map(%x, %b) { mulf }
// becomes
//   %y = hr.map(%x) { softplus, tanh, mulf }
//
// Before differentiation: the gradient of one map needs its operands only, so nothing in between is
// kept for it, and it is one map again. A producer joins the only operator that uses it, if both
// have one shape: nothing is computed twice.
//
// When it hurts: not after kernels are formed, which merge the same operators anyway.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"
#include "transform/common/Patterns.h"

#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_MERGEMAPSPASS
#include "transform/Passes.h.inc"

namespace {

struct MergeProducer : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    for (Value input : map.getInputs()) {
      auto producer = input.getDefiningOp<hr::MapOp>();
      if (producer && llvm::equal(shapeOf(input), shapeOf(map.getResult())) &&
          llvm::all_of(producer->getUsers(), [&](Operation *user) { return user == map; })) {
        merge(producer, map, rewriter);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(map, "no operand is a map used here only, of this shape");
  }

private:
  static void merge(hr::MapOp producer, hr::MapOp map, PatternRewriter &rewriter) {
    SmallVector<Value> inputs(producer.getInputs());
    for (Value input : map.getInputs())
      if (input != producer.getResult())
        inputs.push_back(input);
    Value merged = createMap(rewriter, map.getLoc(), inputs, [&](OpBuilder &inner, ValueRange v) {
      size_t taken = producer.getInputs().size();
      Value value = producer.buildBody(inner, v.take_front(taken));
      SmallVector<Value> scalars;
      for (Value input : map.getInputs())
        scalars.push_back(input == producer.getResult() ? value : v[taken++]);
      return map.buildBody(inner, scalars);
    });
    rewriter.replaceOp(map, merged);
  }
};

struct MergeMapsPass : impl::MergeMapsPassBase<MergeMapsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MergeProducer>(&getContext());
    populateMapSimplifications(patterns);
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
