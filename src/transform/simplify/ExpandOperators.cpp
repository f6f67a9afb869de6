// Expands composite operators into finer ones, until none can be expanded further.
//
//   %y = hr.softmax %x {axis = 1}
// becomes
//   %m = hr.reduce max %x axes [1] {keep_dims = true}
//   %e = hr.map(%x, %m) { exp(x - m) }
//   %s = hr.reduce sum %e axes [1] {keep_dims = true}
//   %y = hr.map(%e, %s) { e / s }
//
// Why: the fusion planner sees maps and reductions, and can join them with their neighbours. What
// is created keeps the location of the original, so its name survives to reports.
// When it hurts: an operator with a library routine or an algebraic rewriting of its own (a
// normalization after a convolution, see FoldBatchNorm) is no longer recognised afterwards.
#include "transform/Passes.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_EXPANDOPERATORSPASS
#include "transform/Passes.h.inc"

namespace {

struct ExpandOperator : OpInterfaceRewritePattern<hr::OperatorInterface> {
  ExpandOperator(MLIRContext *context, StringRef only)
      : OpInterfaceRewritePattern(context), only(only) {}

  LogicalResult matchAndRewrite(hr::OperatorInterface op,
                                PatternRewriter &rewriter) const override {
    if (!only.empty() && op->getName().getStringRef() != only)
      return rewriter.notifyMatchFailure(op, "is not to be expanded");
    FailureOr<Value> expanded = op.expand(rewriter);
    if (failed(expanded))
      return rewriter.notifyMatchFailure(op, "has no expansion");
    rewriter.replaceOp(op, *expanded);
    return success();
  }

  StringRef only;
};

/// A concatenation of very many is one of concatenations: the time to find its buffers grows with
/// the third power of what one kernel puts together.
struct SplitConcat : OpRewritePattern<hr::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConcatOp op, PatternRewriter &rewriter) const override {
    constexpr size_t kMaxInputs = 32;
    SmallVector<Value> inputs(op.getInputs()), parts;
    if (inputs.size() <= kMaxInputs)
      return rewriter.notifyMatchFailure(op, "has few inputs");
    for (size_t begin = 0; begin < inputs.size(); begin += kMaxInputs) {
      auto part = ArrayRef(inputs).slice(begin, std::min(kMaxInputs, inputs.size() - begin));
      parts.push_back(part.size() == 1
                          ? part.front()
                          : rewriter.create<hr::ConcatOp>(op.getLoc(), part, op.getAxis()));
    }
    rewriter.replaceOpWithNewOp<hr::ConcatOp>(op, parts, op.getAxis());
    return success();
  }
};

struct ExpandOperatorsPass : impl::ExpandOperatorsPassBase<ExpandOperatorsPass> {
  using ExpandOperatorsPassBase::ExpandOperatorsPassBase;

  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<ExpandOperator>(&getContext(), only);
    if (only.empty())
      patterns.add<SplitConcat>(&getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
