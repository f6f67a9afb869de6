// Pure data movement that moves nothing, or moves twice.
#include "dialect/SymbolicShape.h"
#include "transform/ConstantMovement.h"
#include "transform/OperatorBuilders.h"
#include "transform/Patterns.h"

using namespace mlir;

namespace headrace {
namespace {

/// transpose(transpose(x, p), q) = transpose(x, p[q]).
struct MergeTransposes : OpRewritePattern<hr::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::TransposeOp op, PatternRewriter &rewriter) const override {
    auto producer = op.getInput().getDefiningOp<hr::TransposeOp>();
    if (!producer)
      return rewriter.notifyMatchFailure(op, "expects a transposed input");
    rewriter.replaceOpWithNewOp<hr::TransposeOp>(
        op, producer.getInput(), permuted(producer.getPermutation(), op.getPermutation()));
    return success();
  }
};

/// A transpose that only moves dimensions of size 1 keeps the order of the elements.
struct TransposeToReshape : OpRewritePattern<hr::TransposeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::TransposeOp op, PatternRewriter &rewriter) const override {
    if (!movesUnitDimsOnly(cast<RankedTensorType>(op.getInput().getType()), op.getPermutation()))
      return rewriter.notifyMatchFailure(op, "moves elements");
    rewriter.replaceOpWithNewOp<hr::ReshapeOp>(op, op.getType(), op.getInput());
    return success();
  }
};

struct ReshapeConstant : OpRewritePattern<hr::ReshapeOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ReshapeOp op, PatternRewriter &rewriter) const override {
    auto constant = op.getInput().getDefiningOp<hr::ConstantOp>();
    if (!constant)
      return rewriter.notifyMatchFailure(op, "expects a constant input");
    ElementsAttr value = reshapeConstant(constant.getValue(), cast<RankedTensorType>(op.getType()));
    if (!value)
      return rewriter.notifyMatchFailure(op, "expects a dense constant");
    rewriter.replaceOpWithNewOp<hr::ConstantOp>(op, value);
    return success();
  }
};

struct DropWholeSlice : OpRewritePattern<hr::SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::SliceOp op, PatternRewriter &rewriter) const override {
    bool whole = op.getInput().getType() == op.getType() &&
                 llvm::all_of(op.getSteps(), [](int64_t step) { return step == 1; }) &&
                 llvm::all_of(op.getStarts().getResults(),
                              [](AffineExpr start) { return constantValue(start) == 0; });
    if (!whole)
      return rewriter.notifyMatchFailure(op, "takes a part of its input");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

struct DropEmptyPad : OpRewritePattern<hr::PadOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::PadOp op, PatternRewriter &rewriter) const override {
    auto isZero = [](int64_t pad) { return pad == 0; };
    if (!llvm::all_of(op.getLow(), isZero) || !llvm::all_of(op.getHigh(), isZero))
      return rewriter.notifyMatchFailure(op, "adds elements");
    rewriter.replaceOp(op, op.getInput());
    return success();
  }
};

struct DropSingleConcat : OpRewritePattern<hr::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConcatOp op, PatternRewriter &rewriter) const override {
    if (op.getInputs().size() != 1)
      return rewriter.notifyMatchFailure(op, "joins several tensors");
    rewriter.replaceOp(op, op.getInputs().front());
    return success();
  }
};

} // namespace

void populateMovementSimplifications(RewritePatternSet &patterns) {
  patterns.add<MergeTransposes, TransposeToReshape, ReshapeConstant, DropWholeSlice, DropEmptyPad,
               DropSingleConcat>(patterns.getContext());
}

} // namespace headrace
