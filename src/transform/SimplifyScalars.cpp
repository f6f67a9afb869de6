// Level 2: algebra on the scalar bodies of fused kernels.
//
// Before:
//   %t = exp(-|x|) ; %s = max(x, 0) + log1p(%t) ; %y = tanh(%s)
// After:
//   %t = exp(-|x|)
//   %y = x >= 0 ? (1 + 2t) / (1 + 2t + 2t^2) : t (t + 2) / (t (t + 2) + 2)
//
// Only in a fused body do the functions of several operators meet. Here: the hyperbolic tangent of
// a softplus (the Mish activation) needs one exponential and one division, where the three
// functions take three polynomials; both branches are accurate, since nothing cancels.
#include "dialect/ScalarPatterns.h"
#include "transform/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_SIMPLIFYSCALARSPASS
#include "transform/Passes.h.inc"

namespace {

struct TanhOfSoftplus : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    auto softplus = matchSoftplus(op.getOperand());
    if (!softplus)
      return rewriter.notifyMatchFailure(op, "is not applied to a softplus");
    auto [x, t] = *softplus;
    Location loc = op.getLoc();
    Type type = op.getType();
    auto constant = [&](double value) -> Value {
      return rewriter.create<arith::ConstantOp>(loc, rewriter.getFloatAttr(type, value));
    };
    auto add = [&](Value a, Value b) -> Value { return rewriter.create<arith::AddFOp>(loc, a, b); };
    auto mul = [&](Value a, Value b) -> Value { return rewriter.create<arith::MulFOp>(loc, a, b); };
    Value zero = constant(0), one = constant(1), two = constant(2);
    Value upper = add(one, mul(two, t));   // 1 + 2t
    Value lower = mul(t, add(t, two));     // t (t + 2)
    Value upperRest = mul(two, mul(t, t)); // 2t^2
    Value positive = rewriter.create<arith::CmpFOp>(loc, arith::CmpFPredicate::OGE, x, zero);
    Value numerator = rewriter.create<arith::SelectOp>(loc, positive, upper, lower);
    Value rest = rewriter.create<arith::SelectOp>(loc, positive, upperRest, two);
    rewriter.replaceOpWithNewOp<arith::DivFOp>(op, numerator, add(numerator, rest));
    return success();
  }
};

struct SimplifyScalarsPass : impl::SimplifyScalarsPassBase<SimplifyScalarsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<TanhOfSoftplus>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
