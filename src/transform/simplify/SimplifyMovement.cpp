// Pure data movement that moves nothing, or moves twice.
#include "dialect/SizeAlgebra.h"
#include "dialect/SymbolicShape.h"
#include "transform/common/OperatorBuilders.h"
#include "transform/common/Patterns.h"
#include "transform/simplify/ConstantMovement.h"

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
      return rewriter.notifyMatchFailure(op, "concatenates several tensors");
    rewriter.replaceOp(op, op.getInputs().front());
    return success();
  }
};

/// concat(reshape(gather(x, i))) = concat(gather(x, reshape(i))) if the reshape divides, or puts
/// together, what the numbers are along: what is picked can be written where it is joined.
struct GatherInShapeOfJoin : OpRewritePattern<hr::ConcatOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConcatOp op, PatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    bool isChanged = false;
    for (Value input : op.getInputs()) {
      hr::GatherOp gather = gatheredInAnotherShape(input);
      isChanged |= static_cast<bool>(gather);
      parts.push_back(gather ? inShapeOf(rewriter, gather, input) : input);
    }
    if (!isChanged)
      return rewriter.notifyMatchFailure(op, "no input is a reshaped gather");
    rewriter.replaceOpWithNewOp<hr::ConcatOp>(op, parts, op.getAxis());
    return success();
  }

private:
  static hr::GatherOp gatheredInAnotherShape(Value input) {
    auto reshape = input.getDefiningOp<hr::ReshapeOp>();
    auto gather = reshape ? reshape.getInput().getDefiningOp<hr::GatherOp>() : hr::GatherOp();
    if (!gather || !reshape->hasOneUse() || !gather->hasOneUse())
      return {};
    SymbolicShape data = shapeOf(gather.getData()), result = shapeOf(input);
    ArrayRef<AffineExpr> before = ArrayRef(data).take_front(gather.getAxis()),
                         after = ArrayRef(data).drop_front(gather.getAxis() + 1);
    bool keepsOthers = result.size() >= before.size() + after.size() &&
                       llvm::equal(ArrayRef(result).take_front(before.size()), before, sameSize) &&
                       llvm::equal(ArrayRef(result).take_back(after.size()), after, sameSize);
    MLIRContext *context = input.getContext();
    bool keepsNumbers =
        keepsOthers && sameSize(elementCount(numbersOf(gather, result), context),
                                elementCount(shapeOf(gather.getIndices()), context));
    return keepsNumbers ? gather : hr::GatherOp();
  }

  /// The part of a result's shape that is the numbers'.
  static SymbolicShape numbersOf(hr::GatherOp gather, ArrayRef<AffineExpr> result) {
    size_t others = shapeOf(gather.getData()).size() - 1;
    return SymbolicShape(result.slice(gather.getAxis(), result.size() - others));
  }

  static Value inShapeOf(OpBuilder &b, hr::GatherOp gather, Value result) {
    Location loc = gather.getLoc();
    Value numbers = reshaped(b, loc, gather.getIndices(), numbersOf(gather, shapeOf(result)));
    return b.create<hr::GatherOp>(loc, gather.getData(), numbers, gather.getAxis());
  }
};

/// How many dimensions of `fine` each dimension of `coarse` is the product of, in order; nullopt
/// if the shapes do not nest.
std::optional<SmallVector<size_t>> nesting(ArrayRef<AffineExpr> fine, ArrayRef<AffineExpr> coarse) {
  SmallVector<size_t> counts;
  size_t next = 0;
  for (AffineExpr size : coarse) {
    AffineExpr product = constantDim(1, size.getContext());
    size_t first = next;
    while (next < fine.size() && (next == first || !sameSize(product, size)))
      product = normalized(product * fine[next++]);
    if (!sameSize(product, size))
      return std::nullopt;
    counts.push_back(next - first);
  }
  return next == fine.size() ? std::optional(counts) : std::nullopt;
}

/// map(reshape(map(x))) = reshape(map(map(x))): the reshape moves nothing, but stands between two
/// maps that could be one kernel.
struct MapBeforeReshape : OpRewritePattern<hr::MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::MapOp map, PatternRewriter &rewriter) const override {
    for (auto [i, input] : llvm::enumerate(map.getInputs())) {
      auto reshape = input.getDefiningOp<hr::ReshapeOp>();
      auto producer = reshape ? reshape.getInput().getDefiningOp<hr::MapOp>() : hr::MapOp();
      if (!producer || !reshape->hasOneUse() || !producer->hasOneUse() ||
          !llvm::equal(shapeOf(input), shapeOf(map.getResult())))
        continue;
      SymbolicShape fine = shapeOf(producer.getResult()), coarse = shapeOf(map.getResult());
      auto counts = nesting(fine, coarse);
      if (!counts || fine.size() <= coarse.size())
        continue;
      SmallVector<Value> inputs;
      for (Value other : map.getInputs())
        inputs.push_back(other == input ? producer.getResult()
                                        : refined(rewriter, map.getLoc(), other, fine, *counts));
      Value result = createMap(rewriter, map.getLoc(), inputs,
                               [&](OpBuilder &b, ValueRange v) { return map.buildBody(b, v); });
      rewriter.replaceOp(map, reshaped(rewriter, map.getLoc(), result, coarse));
      return success();
    }
    return rewriter.notifyMatchFailure(map, "no operand is a reshaped map of more dimensions");
  }

private:
  /// An operand of a map in the coarse shape, for one in the fine shape: whole dimensions are split
  /// as the map's are, and those of size 1 stay so.
  static Value refined(OpBuilder &b, Location loc, Value operand, ArrayRef<AffineExpr> fine,
                       ArrayRef<size_t> counts) {
    SymbolicShape shape = shapeOf(operand), result;
    size_t skipped = counts.size() - shape.size(), next = 0;
    for (size_t i = 0; i < skipped; ++i)
      next += counts[i];
    for (size_t i = 0; i < shape.size(); ++i)
      for (size_t k = 0; k < counts[skipped + i]; ++k, ++next)
        result.push_back(constantValue(shape[i]) == 1 ? shape[i] : fine[next]);
    return reshaped(b, loc, operand, result);
  }
};

} // namespace

void populateMovementSimplifications(RewritePatternSet &patterns) {
  patterns.add<MapBeforeReshape, MergeTransposes, TransposeToReshape, ReshapeConstant,
               DropWholeSlice, DropEmptyPad, DropSingleConcat, GatherInShapeOfJoin>(
      patterns.getContext());
}

} // namespace headrace
