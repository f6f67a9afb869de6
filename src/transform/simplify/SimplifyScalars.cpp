// Level 2: algebra on the scalar bodies of fused kernels.
//
// Before:
//   %t = exp(-|x|) ; %s = max(x, 0) + log1p(%t) ; %y = tanh(%s)
// After:
//   %t = exp(-|x|)
//   %y = x >= 0 ? (1 + 2t) / (1 + 2t + 2t^2) : t (t + 2) / (t (t + 2) + 2)
//
// and log(1 + exp(x)) first becomes that softplus, which neither overflows nor loses small values.
//
// Only in a fused body do the functions of several operators meet. Here: the hyperbolic tangent of
// a softplus (the Mish activation) needs one exponential and one division, if the three
// functions take three polynomials; both branches are accurate, since nothing cancels. And a
// product with a reciprocal, as in x * sigmoid(x), is a quotient.
#include "dialect/scalar/Formulas.h"
#include "dialect/scalar/ScalarPatterns.h"
#include "transform/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {
#define GEN_PASS_DEF_SIMPLIFYSCALARSPASS
#include "transform/Passes.h.inc"

namespace {

/// Returns the exp of log(1 + exp(x)), or null for any other logarithm.
math::ExpOp exponentialIn(Operation *logarithm) {
  Value inner = logarithm->getOperand(0);
  if (isa<math::LogOp>(logarithm)) {
    auto sum = inner.getDefiningOp<arith::AddFOp>();
    if (!sum)
      return {};
    if (matchPattern(sum.getLhs(), m_OneFloat()))
      inner = sum.getRhs();
    else if (matchPattern(sum.getRhs(), m_OneFloat()))
      inner = sum.getLhs();
    else
      return {};
  }
  return inner.getDefiningOp<math::ExpOp>();
}

template <class Logarithm> struct SoftplusOfExponential : OpRewritePattern<Logarithm> {
  using OpRewritePattern<Logarithm>::OpRewritePattern;

  LogicalResult matchAndRewrite(Logarithm op, PatternRewriter &rewriter) const override {
    math::ExpOp exponential = exponentialIn(op);
    if (!exponential || !exponential->hasOneUse() || isStable(op))
      return failure();
    Location loc = op.getLoc();
    Value x = exponential.getOperand();
    Value zero = rewriter.create<arith::ConstantOp>(loc, rewriter.getZeroAttr(op.getType()));
    Value magnitude = rewriter.create<math::AbsFOp>(loc, x);
    Value t = rewriter.create<math::ExpOp>(loc, rewriter.create<arith::NegFOp>(loc, magnitude));
    Value ramp = rewriter.create<arith::MaximumFOp>(loc, x, zero);
    rewriter.replaceOpWithNewOp<arith::AddFOp>(op, ramp, rewriter.create<math::Log1pOp>(loc, t));
    return success();
  }

  /// It is part of a softplus already.
  static bool isStable(Logarithm op) {
    auto negative = exponentialIn(op).getOperand().template getDefiningOp<arith::NegFOp>();
    return negative && negative.getOperand().template getDefiningOp<math::AbsFOp>();
  }
};

struct TanhOfSoftplus : OpRewritePattern<math::TanhOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::TanhOp op, PatternRewriter &rewriter) const override {
    auto softplus = matchSoftplus(op.getOperand());
    if (!softplus)
      return rewriter.notifyMatchFailure(op, "is not applied to a softplus");
    auto [x, t] = *softplus;
    ScalarMath math(rewriter, op.getLoc());
    rewriter.replaceOp(op, formulas::tanhOfSoftplus(math, x, t));
    return success();
  }
};

/// x * (1 / d) = x / d, which rounds once: the last step of x * sigmoid(x). Only if d changes
/// whenever x does; the reciprocal of a row's sum is computed once for the row.
struct MultiplyByReciprocal : OpRewritePattern<arith::MulFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(arith::MulFOp op, PatternRewriter &rewriter) const override {
    for (auto [factor, other] :
         {std::pair(op.getLhs(), op.getRhs()), std::pair(op.getRhs(), op.getLhs())}) {
      auto reciprocal = factor.getDefiningOp<arith::DivFOp>();
      if (!reciprocal || !reciprocal->hasOneUse() ||
          !matchPattern(reciprocal.getLhs(), m_OneFloat()))
        continue;
      llvm::SmallDenseSet<Value> ofDivisor = elementsIn(reciprocal.getRhs());
      if (!llvm::all_of(elementsIn(other), [&](Value x) { return ofDivisor.contains(x); }))
        continue;
      rewriter.replaceOpWithNewOp<arith::DivFOp>(op, other, reciprocal.getRhs());
      return success();
    }
    return rewriter.notifyMatchFailure(op, "no factor is the reciprocal of what changes with x");
  }

private:
  /// The operands of a value's expression: arguments of the body, and results of operations that
  /// are not arithmetic.
  static llvm::SmallDenseSet<Value> elementsIn(Value value) {
    llvm::SmallDenseSet<Value> elements, seen;
    SmallVector<Value> waiting{value};
    while (!waiting.empty()) {
      Value next = waiting.pop_back_val();
      if (!seen.insert(next).second)
        continue;
      Operation *op = next.getDefiningOp();
      bool isComputed = op && op->getNumRegions() == 0 && isPure(op) &&
                        (op->getNumOperands() > 0 || op->hasTrait<OpTrait::ConstantLike>());
      if (isComputed)
        llvm::append_range(waiting, op->getOperands());
      else
        elements.insert(next);
    }
    return elements;
  }
};

struct SimplifyScalarsPass : impl::SimplifyScalarsPassBase<SimplifyScalarsPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SoftplusOfExponential<math::LogOp>, SoftplusOfExponential<math::Log1pOp>,
                 TanhOfSoftplus, MultiplyByReciprocal>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
