// Makes padding an operator of its own, and averages sums.
//
//   %y = hr.conv %x, %w {pads = [1, 1, 1, 1]}
// becomes
//   %p = hr.pad %x {low = [0, 1, 1, 0], high = [0, 1, 1, 0], value = 0.0}
//   %y = hr.conv %p, %w {pads = [0, 0, 0, 0]}
//
//   %y = hr.pool average %x {window = [2, 2], pads = [0, 0, 0, 0]}
// becomes
//   %s = hr.pool sum %x {window = [2, 2], pads = [0, 0, 0, 0]}
//   %y = hr.map(%s) { s * 0.25 }
//
// If padding does not count in an average, the factor is a constant image of reciprocal counts;
// an image of unknown size is divided by the sum over a padded image of ones.
//
// Why: inner loops without bounds checks; level 2 knows windows without padding only.
// When it hurts: the padded image is written and read once more, unless the pad fuses with what
// produces it.
#include "dialect/SymbolicShape.h"
#include "transform/Passes.h"
#include "transform/common/OperatorBuilders.h"

#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;

namespace headrace {

#define GEN_PASS_DEF_SEPARATEPADDINGPASS
#include "transform/Passes.h.inc"

namespace {

bool isPadded(ArrayRef<int64_t> pads) {
  return llvm::any_of(pads, [](int64_t pad) { return pad != 0; });
}

/// The neutral element of a maximum.
TypedAttr lowest(Builder &b, Type type) {
  if (auto floatType = dyn_cast<FloatType>(type))
    return b.getFloatAttr(type, APFloat::getInf(floatType.getFloatSemantics(), /*Negative=*/true));
  unsigned width = type.getIntOrFloatBitWidth();
  return b.getIntegerAttr(type, type.isUnsignedInteger() || width == 1
                                    ? APInt::getZero(width)
                                    : APInt::getSignedMinValue(width));
}

Value padImage(OpBuilder &builder, Location loc, Value image, ArrayRef<int64_t> pads,
               hr::ChannelLayout layout, TypedAttr value) {
  if (!isPadded(pads))
    return image;
  size_t rank = shapeOf(image).size(), spatial = pads.size() / 2;
  size_t offset = layout == hr::ChannelLayout::First ? 2 : 1;
  SmallVector<int64_t> low(rank, 0), high(rank, 0);
  for (size_t i = 0; i < spatial; ++i) {
    low[offset + i] = pads[i];
    high[offset + i] = pads[spatial + i];
  }
  return builder.create<hr::PadOp>(loc, image, low, high, value);
}

struct SeparateConvPadding : OpRewritePattern<hr::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getPads()))
      return rewriter.notifyMatchFailure(op, "has no padding");
    Value padded = padImage(rewriter, op.getLoc(), op.getInput(), op.getPads(), op.getLayout(),
                            rewriter.getZeroAttr(getElementTypeOrSelf(op.getInput())));
    SmallVector<int64_t> none(op.getPads().size(), 0);
    rewriter.replaceOpWithNewOp<hr::ConvOp>(
        op, padded, op.getFilter(), op.getStrides(), op.getDilations(), none, op.getGroups(),
        op.getLayout(), op.getAccumulatorAttr(), op.getUnsignedInput(), op.getUnsignedFilter());
    return success();
  }
};

struct SeparateFilterPadding : OpRewritePattern<hr::ConvFilterOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvFilterOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getPads()))
      return rewriter.notifyMatchFailure(op, "has no padding");
    Value padded = padImage(rewriter, op.getLoc(), op.getInput(), op.getPads(), op.getLayout(),
                            rewriter.getZeroAttr(getElementTypeOrSelf(op.getInput())));
    SmallVector<int64_t> none(op.getPads().size(), 0);
    rewriter.replaceOpWithNewOp<hr::ConvFilterOp>(op, op.getType(), padded, op.getOutput(),
                                                  op.getStrides(), op.getDilations(), none,
                                                  op.getGroups(), op.getLayout());
    return success();
  }
};

struct SeparateIndexPadding : OpRewritePattern<hr::PoolIndexOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::PoolIndexOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getPads()))
      return rewriter.notifyMatchFailure(op, "has no padding");
    Value padded = padImage(rewriter, op.getLoc(), op.getInput(), op.getPads(), op.getLayout(),
                            lowest(rewriter, getElementTypeOrSelf(op.getInput())));
    SmallVector<int64_t> none(op.getPads().size(), 0);
    rewriter.replaceOpWithNewOp<hr::PoolIndexOp>(op, op.getType(), padded, op.getMaximum(),
                                                 op.getPositions(), op.getStrides(),
                                                 op.getDilations(), none, op.getLayout());
    return success();
  }
};

/// Unpools into the padded image; the padding is then cut off.
struct SeparateUnpoolPadding : OpRewritePattern<hr::UnpoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::UnpoolOp op, PatternRewriter &rewriter) const override {
    if (!isPadded(op.getPads()))
      return rewriter.notifyMatchFailure(op, "has no padding");
    size_t spatial = op.getWindow().size();
    size_t offset = op.getLayout() == hr::ChannelLayout::First ? 2 : 1;
    SymbolicShape shape = shapeOf(op.getResult());
    SmallVector<int64_t> none(op.getPads().size(), 0), cut;
    for (size_t i = 0; i < spatial; ++i)
      shape[offset + i] = shape[offset + i] + (op.getPads()[i] + op.getPads()[spatial + i]);
    for (int64_t pad : op.getPads())
      cut.push_back(-pad);
    Type element = getElementTypeOrSelf(op.getResult());
    Value image = rewriter.create<hr::UnpoolOp>(
        op.getLoc(), tensorType(shape, element), op.getInput(), op.getIndices(), op.getWindow(),
        op.getStrides(), op.getDilations(), none, op.getLayout());
    rewriter.replaceOp(op, padImage(rewriter, op.getLoc(), image, cut, op.getLayout(),
                                    rewriter.getZeroAttr(element)));
    return success();
  }
};

/// Windows side by side: every element is under one, so that its value is a map of what that
/// window holds, over [.., windows, position in the window, ..].
struct UnpoolSideBySide : OpRewritePattern<hr::UnpoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::UnpoolOp op, PatternRewriter &rewriter) const override {
    bool sideBySide = llvm::equal(op.getWindow(), op.getStrides()) && !isPadded(op.getPads()) &&
                      llvm::all_of(op.getDilations(), [](int64_t d) { return d == 1; });
    if (!sideBySide)
      return rewriter.notifyMatchFailure(op,
                                         "expects windows that neither overlap nor skip elements");
    MLIRContext *context = op.getContext();
    Location loc = op.getLoc();
    SymbolicShape held = shapeOf(op.getInput()), apart, windows, covered(held), taps;
    size_t offset = op.getLayout() == hr::ChannelLayout::First ? 2 : 1;
    AffineExpr one = constantDim(1, context);
    for (size_t i = 0; i < held.size(); ++i) {
      apart.push_back(held[i]);
      windows.push_back(held[i]);
      if (i >= offset)
        taps.push_back(one);
      if (i < offset || i >= offset + op.getWindow().size())
        continue;
      AffineExpr extent = constantDim(op.getWindow()[i - offset], context);
      apart.push_back(one);
      windows.push_back(extent);
      taps.push_back(extent);
      covered[i] = held[i] * extent;
    }
    Value value = reshaped(rewriter, loc, op.getInput(), apart);
    Type element = getElementTypeOrSelf(op.getInput());
    if (op.getIndices()) {
      Value indices = reshaped(rewriter, loc, op.getIndices(), apart);
      value = chosenTaps(rewriter, loc, value, indices, taps);
    } else {
      value = rewriter.create<hr::BroadcastOp>(loc, tensorType(windows, element), value);
    }
    value = reshaped(rewriter, loc, value, covered);
    if (value.getType() != op.getType()) {
      SmallVector<AffineExpr> starts(held.size(), constantDim(0, context));
      value = rewriter.create<hr::PlaceOp>(loc, op.getType(), value, symbolMap(starts, context),
                                           SmallVector<int64_t>(held.size(), 1));
    }
    rewriter.replaceOp(op, value);
    return success();
  }

private:
  static Value chosenTaps(OpBuilder &builder, Location loc, Value value, Value indices,
                          ArrayRef<AffineExpr> taps) {
    Type integer = getElementTypeOrSelf(indices);
    auto type = tensorType(taps, integer);
    SmallVector<Attribute> numbers;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      numbers.push_back(builder.getIntegerAttr(integer, i));
    Value positions = builder.create<hr::ConstantOp>(loc, DenseElementsAttr::get(type, numbers));
    return createMap(
        builder, loc, {value, indices, positions}, [&](OpBuilder &b, ValueRange v) -> Value {
          Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(v[0].getType()));
          Value here = b.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq, v[1], v[2]);
          return b.create<arith::SelectOp>(loc, here, v[0], zero);
        });
  }
};

/// The operator's window over a padded image, without padding of its own, of any kind.
Value poolPadded(OpBuilder &builder, hr::PoolOp op, Value image, hr::PoolKind kind,
                 TypedAttr value) {
  Value padded = padImage(builder, op.getLoc(), image, op.getPads(), op.getLayout(), value);
  SmallVector<int64_t> none(op.getPads().size(), 0);
  return builder.create<hr::PoolOp>(op.getLoc(), padded, kind, op.getWindow(), op.getStrides(),
                                    op.getDilations(), none, /*include_pad=*/false, op.getLayout());
}

struct SeparatePoolPadding : OpRewritePattern<hr::PoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::PoolOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() == hr::PoolKind::Average)
      return rewriter.notifyMatchFailure(op, "is an average");
    if (!isPadded(op.getPads()))
      return rewriter.notifyMatchFailure(op, "has no padding");
    Type element = getElementTypeOrSelf(op.getInput());
    TypedAttr value = op.getKind() == hr::PoolKind::Max ? lowest(rewriter, element)
                                                        : rewriter.getZeroAttr(element);
    rewriter.replaceOp(op, poolPadded(rewriter, op, op.getInput(), op.getKind(), value));
    return success();
  }
};

/// How many elements of a row of `size` the window at each of `outputs` positions covers: window
/// element k lies at start + k * dilation, which is at least 0 and less than `size`.
SmallVector<int64_t> coveredCounts(int64_t size, int64_t outputs, int64_t window, int64_t stride,
                                   int64_t dilation, int64_t pad) {
  SmallVector<int64_t> counts;
  for (int64_t i = 0; i < outputs; ++i) {
    int64_t start = i * stride - pad;
    int64_t first = std::max<int64_t>(0, llvm::divideCeilSigned(-start, dilation));
    int64_t end = std::min(window, llvm::divideCeilSigned(size - start, dilation));
    counts.push_back(std::max<int64_t>(0, end - first));
  }
  return counts;
}

/// The largest image of counts worth keeping next to the program, in elements.
constexpr int64_t kMaxCounts = 1 << 22;

/// 1 / (elements covered) at every position of the result, shaped to stand next to it; null if
/// the image's size is not known, or huge.
Value reciprocalCounts(OpBuilder &builder, hr::PoolOp op) {
  auto input = cast<RankedTensorType>(op.getInput().getType());
  auto result = cast<RankedTensorType>(op.getType());
  bool first = op.getLayout() == hr::ChannelLayout::First;
  size_t spatial = op.getWindow().size(), offset = first ? 2 : 1;
  SmallVector<int64_t> counts{1}, shape;
  for (size_t i = 0; i < spatial; ++i) {
    int64_t outputs = result.getDimSize(offset + i);
    if (input.isDynamicDim(offset + i) || outputs > kMaxCounts ||
        outputs * static_cast<int64_t>(counts.size()) > kMaxCounts)
      return {};
    shape.push_back(outputs);
    SmallVector<int64_t> joined;
    for (int64_t outer : counts)
      for (int64_t inner :
           coveredCounts(input.getDimSize(offset + i), shape.back(), op.getWindow()[i],
                         op.getStrides()[i], op.getDilations()[i], op.getPads()[i]))
        joined.push_back(outer * inner);
    counts = joined;
  }
  if (!first)
    shape.push_back(1);
  SmallVector<Attribute> factors;
  for (int64_t count : counts)
    factors.push_back(
        builder.getFloatAttr(input.getElementType(), 1.0 / static_cast<double>(count)));
  auto type = RankedTensorType::get(shape, input.getElementType());
  return builder.create<hr::ConstantOp>(op.getLoc(), DenseElementsAttr::get(type, factors));
}

/// Elements covered at every position, counted while the program runs: the window over an image of
/// ones.
Value countedElements(OpBuilder &builder, hr::PoolOp op) {
  Location loc = op.getLoc();
  Type element = getElementTypeOrSelf(op.getInput());
  SymbolicShape shape = shapeOf(op.getInput());
  shape.front() = constantDim(1, op.getContext());
  (op.getLayout() == hr::ChannelLayout::First ? shape[1] : shape.back()) = shape.front();
  auto unit = RankedTensorType::get(SmallVector<int64_t>(shape.size(), 1), element);
  Value one = builder.create<hr::ConstantOp>(
      loc, DenseElementsAttr::get(unit, builder.getOneAttr(element)));
  Value ones = builder.create<hr::BroadcastOp>(loc, tensorType(shape, element), one);
  return poolPadded(builder, op, ones, hr::PoolKind::Sum, builder.getZeroAttr(element));
}

struct AverageToSum : OpRewritePattern<hr::PoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::PoolOp op, PatternRewriter &rewriter) const override {
    Type element = getElementTypeOrSelf(op.getInput());
    if (op.getKind() != hr::PoolKind::Average || !isa<FloatType>(element))
      return rewriter.notifyMatchFailure(op, "expects an average of floating-point values");
    Location loc = op.getLoc();
    bool everyWindowFull = op.getIncludePad() || !isPadded(op.getPads());
    Value sum =
        poolPadded(rewriter, op, op.getInput(), hr::PoolKind::Sum, rewriter.getZeroAttr(element));
    if (!everyWindowFull) {
      Value factors = reciprocalCounts(rewriter, op);
      Value counts = factors ? factors : countedElements(rewriter, op);
      rewriter.replaceOp(
          op, createMap(rewriter, loc, {sum, counts}, [&](OpBuilder &b, ValueRange v) -> Value {
            if (factors)
              return b.create<arith::MulFOp>(loc, v[0], v[1]);
            return b.create<arith::DivFOp>(loc, v[0], v[1]);
          }));
      return success();
    }
    double size = 1;
    for (int64_t extent : op.getWindow())
      size *= static_cast<double>(extent);
    rewriter.replaceOp(
        op, createMap(rewriter, loc, {sum}, [&](OpBuilder &b, ValueRange v) -> Value {
          Value factor = b.create<arith::ConstantOp>(loc, b.getFloatAttr(element, 1.0 / size));
          return b.create<arith::MulFOp>(loc, v[0], factor);
        }));
    return success();
  }
};

struct SeparatePaddingPass : impl::SeparatePaddingPassBase<SeparatePaddingPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<SeparateConvPadding, SeparateFilterPadding, SeparatePoolPadding,
                 SeparateIndexPadding, SeparateUnpoolPadding, UnpoolSideBySide, AverageToSum>(
        &getContext());
    if (failed(applyPatternsAndFoldGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
} // namespace headrace
