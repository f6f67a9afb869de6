// Windows: positions of a window ("taps") that read nothing but padding, wherever the window is.
//
//   %y = hr.conv %x, %w {dilations = [24, 24], pads = [24, 24, 24, 24]}   // 14x14, a window of 3x3
// becomes
//   %v = hr.slice %w from (.., 1, 1)                                      // its centre
//   %y = hr.conv %x, %v {dilations = [24, 24], pads = [0, 0, 0, 0]}
//
// A tap's products with padding add nothing, and padding never wins a maximum. Padded elements that
// only such taps read are not written either.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "transform/common/Patterns.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace {
namespace {

/// A window along one spatial dimension of an image of known size.
struct Sliding {
  int64_t size, outputs, window, stride, dilation, low;

  /// Whether the tap reads an element of the image at some position of the window.
  bool readsImage(int64_t tap) const {
    int64_t start = tap * dilation - low;
    int64_t first = std::max<int64_t>(0, llvm::divideCeilSigned(-start, stride));
    return first < outputs && first * stride + start < size;
  }
};

/// What is left of a window along one dimension: its taps from `first` on, the padding that these
/// read, and how many elements at both ends of the image none of them reads.
struct Remaining {
  int64_t first, taps, low, high, cutLow, cutHigh;
};

/// The taps between the first and the last that read the image, with these; all of them if none
/// does.
Remaining remaining(const Sliding &at) {
  int64_t first = 0, last = at.window - 1;
  while (first < last && !at.readsImage(first))
    ++first;
  while (last > first && !at.readsImage(last))
    --last;
  int64_t low = at.low - first * at.dilation;
  int64_t high = (at.outputs - 1) * at.stride + (last - first) * at.dilation + 1 - at.size - low;
  // A few elements that no position reaches are left to the stride.
  int64_t cutHigh = -high >= at.stride ? -high : 0;
  return {first,
          last - first + 1,
          std::max<int64_t>(low, 0),
          std::max<int64_t>(high, 0),
          std::max<int64_t>(-low, 0),
          cutHigh};
}

/// The elements from `starts` on of a value.
Value partFrom(OpBuilder &b, Location loc, Value value, ArrayRef<int64_t> starts,
               ArrayRef<AffineExpr> shape) {
  auto type = tensorType(shape, getElementTypeOrSelf(value));
  if (type == value.getType())
    return value;
  SmallVector<AffineExpr> from;
  for (int64_t start : starts)
    from.push_back(constantDim(start, b.getContext()));
  return b.create<hr::SliceOp>(loc, type, value, symbolMap(from, b.getContext()),
                               SmallVector<int64_t>(shape.size(), 1));
}

/// An operator's window without the taps that only ever read padding.
class NarrowedWindow {
public:
  template <class Window> NarrowedWindow(Window op, ArrayRef<int64_t> window) {
    SymbolicShape input = shapeOf(op.getInput()), result = shapeOf(op.getResult());
    size_t offset = offsetIn(op), spatial = window.size();
    pads.resize(2 * spatial);
    for (size_t i = 0; i < spatial; ++i) {
      auto size = constantValue(input[offset + i]), outputs = constantValue(result[offset + i]);
      Remaining left{0, window[i], op.getPads()[i], op.getPads()[spatial + i], 0, 0};
      if (size && outputs && *size > 0 && *outputs > 0) {
        Remaining fewer = remaining({*size, *outputs, window[i], op.getStrides()[i],
                                     op.getDilations()[i], op.getPads()[i]});
        if (fewer.taps < left.taps)
          left = fewer;
      }
      isNarrower |= left.taps < window[i];
      pads[i] = left.low;
      pads[spatial + i] = left.high;
      taps.push_back(left.taps);
      along.push_back(left);
    }
  }

  /// The image that is left to be read.
  template <class Window> Value imageOf(OpBuilder &b, Window op) const {
    SymbolicShape shape = shapeOf(op.getInput());
    SmallVector<int64_t> starts(shape.size(), 0);
    for (auto [i, left] : llvm::enumerate(along)) {
      size_t dim = offsetIn(op) + i;
      starts[dim] = left.cutLow;
      if (left.cutLow + left.cutHigh > 0)
        shape[dim] = shape[dim] - (left.cutLow + left.cutHigh);
    }
    return partFrom(b, op.getLoc(), op.getInput(), starts, shape);
  }

  Value filterOf(OpBuilder &b, hr::ConvOp op) const {
    SymbolicShape shape = shapeOf(op.getFilter());
    SmallVector<int64_t> starts(shape.size(), 0);
    size_t offset = op.getLayout() == hr::ChannelLayout::First ? 2 : 0;
    for (auto [i, left] : llvm::enumerate(along)) {
      starts[offset + i] = left.first;
      shape[offset + i] = constantDim(left.taps, b.getContext());
    }
    return partFrom(b, op.getLoc(), op.getFilter(), starts, shape);
  }

  bool isNarrower = false;
  SmallVector<int64_t> taps, pads;

private:
  /// The first spatial dimension of an image.
  template <class Window> static size_t offsetIn(Window op) {
    return op.getLayout() == hr::ChannelLayout::First ? 2 : 1;
  }

  SmallVector<Remaining> along;
};

struct DropConvTaps : OpRewritePattern<hr::ConvOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::ConvOp op, PatternRewriter &rewriter) const override {
    SymbolicShape filter = shapeOf(op.getFilter());
    size_t offset = op.getLayout() == hr::ChannelLayout::First ? 2 : 0;
    SmallVector<int64_t> window;
    for (size_t i = 0; i < op.getStrides().size(); ++i)
      window.push_back(*constantValue(filter[offset + i]));
    NarrowedWindow narrowed(op, window);
    if (!narrowed.isNarrower)
      return rewriter.notifyMatchFailure(op, "has no tap that reads padding alone");
    rewriter.replaceOpWithNewOp<hr::ConvOp>(
        op, narrowed.imageOf(rewriter, op), narrowed.filterOf(rewriter, op), op.getStrides(),
        op.getDilations(), narrowed.pads, op.getGroups(), op.getLayout(), op.getAccumulatorAttr(),
        op.getUnsignedInput(), op.getUnsignedFilter());
    return success();
  }
};

struct DropPoolTaps : OpRewritePattern<hr::PoolOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(hr::PoolOp op, PatternRewriter &rewriter) const override {
    if (op.getKind() == hr::PoolKind::Average && op.getIncludePad())
      return rewriter.notifyMatchFailure(op, "counts padding");
    NarrowedWindow narrowed(op, op.getWindow());
    if (!narrowed.isNarrower)
      return rewriter.notifyMatchFailure(op, "has no tap that reads padding alone");
    rewriter.replaceOpWithNewOp<hr::PoolOp>(op, narrowed.imageOf(rewriter, op), op.getKind(),
                                            narrowed.taps, op.getStrides(), op.getDilations(),
                                            narrowed.pads, op.getIncludePad(), op.getLayout());
    return success();
  }
};

} // namespace

void populateWindowSimplifications(RewritePatternSet &patterns) {
  patterns.add<DropConvTaps, DropPoolTaps>(patterns.getContext());
}

} // namespace headrace
