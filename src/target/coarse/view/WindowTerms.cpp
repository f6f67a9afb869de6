// Convolutions and poolings of images; rows of elements are images of one row.
#include "target/coarse/view/OperatorTerms.h"

#include <limits>

using namespace mlir;

namespace headrace::coarse {

using rewrite::Shape;
using rewrite::ShapedTerm;

namespace {

/// Windows over one or two axes; a missing one is of size 1.
struct Windows {
  int64_t rows = 1, columns = 1, rowStep = 1, columnStep = 1;
  int64_t rowGap = 1, columnGap = 1; // from one element of a window to the next
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool isFlat = false; // of one axis alone

  bool arePadded() const { return top + left + bottom + right != 0; }
  bool haveGaps() const { return rowGap != 1 || columnGap != 1; }
  int64_t size() const { return rows * columns; }
};

Windows windowsOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                  ArrayRef<int64_t> pads) {
  if (sizes.empty() || sizes.size() > 2)
    refuse("has windows over " + Twine(sizes.size()) + " axes, and terms over one or two");
  if (llvm::any_of(pads, [](int64_t pad) { return pad < 0; }))
    refuse("has windows with negative padding");
  Windows windows;
  windows.isFlat = sizes.size() == 1;
  windows.columns = sizes.back();
  windows.columnStep = strides.back();
  windows.columnGap = dilations.back();
  windows.left = pads[sizes.size() - 1];
  windows.right = pads.back();
  if (!windows.isFlat) {
    windows.rows = sizes[0];
    windows.rowStep = strides[0];
    windows.rowGap = dilations[0];
    windows.top = pads[0];
    windows.bottom = pads[2];
  }
  return windows;
}

/// [..., w] as [..., 1, w], and back.
ShapedTerm asImage(rewrite::TermBuilder &builder, const ShapedTerm &x, const Windows &windows) {
  return windows.isFlat ? builder.apply("repeat", {2, 1}, {x}) : x;
}
ShapedTerm asResult(rewrite::TermBuilder &builder, const ShapedTerm &x, const Windows &windows) {
  return windows.isFlat ? builder.apply("join", {2}, {x}) : x;
}

ShapedTerm padded(rewrite::TermBuilder &builder, ShapedTerm x, const Windows &windows) {
  if (windows.left + windows.right > 0)
    x = builder.apply("pad", {1, windows.left, windows.right}, {x});
  if (windows.top + windows.bottom > 0)
    x = builder.apply("pad", {2, windows.top, windows.bottom}, {x});
  return x;
}

/// Pads with values that never are the maximum.
ShapedTerm paddedForMaximum(rewrite::TermBuilder &builder, OperandTerms &operands, ShapedTerm x,
                            const Windows &windows) {
  auto border = [&](int64_t axis, int64_t size) {
    Shape shape = x.shape;
    shape[rewrite::positionOf(shape, axis)] = size;
    return builder.broadcast(operands.scalar(-std::numeric_limits<double>::infinity()), shape);
  };
  for (auto [axis, before, after] :
       {std::tuple(1, windows.left, windows.right), std::tuple(2, windows.top, windows.bottom)}) {
    if (before > 0)
      x = builder.apply("concat", {axis}, {border(axis, before), x});
    if (after > 0)
      x = builder.apply("concat", {axis}, {x, border(axis, after)});
  }
  return x;
}

/// Windows along an axis. Dilated ones are every `gap`-th element of longer ones, the last of
/// which end `gap` - 1 elements behind what they read.
ShapedTerm slide(rewrite::TermBuilder &builder, ShapedTerm x, int64_t axis, int64_t size,
                 int64_t step, int64_t gap) {
  if (gap == 1)
    return builder.apply("slide", {axis, size, step}, {x});
  x = builder.apply("pad", {axis, 0, gap - 1}, {x});
  x = builder.apply("slide", {axis, size * gap, step}, {x});
  x = builder.apply("split", {axis, gap}, {x});
  return builder.apply("join", {axis}, {builder.apply("slice", {axis, 0, 1}, {x})});
}

/// [..., h, w] as [..., rows of windows, rows, columns of windows, columns].
ShapedTerm windowsIn(rewrite::TermBuilder &builder, const ShapedTerm &image,
                     const Windows &windows) {
  ShapedTerm rows = slide(builder, image, 2, windows.rows, windows.rowStep, windows.rowGap);
  return slide(builder, rows, 1, windows.columns, windows.columnStep, windows.columnGap);
}

/// A convolution whose windows are dilated as the product of filters with patches; others are left
/// to the rules.
ShapedTerm convWithGaps(rewrite::TermBuilder &builder, const ShapedTerm &image,
                        const ShapedTerm &filter, const Windows &windows) {
  auto joined = [&](int64_t axis, const ShapedTerm &x) {
    return builder.apply("join", {axis}, {x});
  };
  ShapedTerm parts = windowsIn(builder, image, windows);
  int64_t width = rewrite::sizeOf(parts.shape, 2);
  for (int64_t axis : {2, 4, 3}) // channels come before the elements of a window
    parts = builder.apply("transpose", {axis, axis + 1}, {parts});
  ShapedTerm patches = joined(2, joined(1, joined(1, parts)));
  ShapedTerm product = builder.apply("contract", {}, {joined(1, joined(1, filter)), patches});
  return builder.apply("split", {1, width}, {product});
}

} // namespace

ShapedTerm convTerm(hr::ConvOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                    const BatchAxis &batch) {
  if (op.getLayout() != hr::ChannelLayout::First)
    refuse("has its channels last");
  ShapedTerm filter = operands.of(op.getFilter()), image = operands.of(op.getInput());
  Windows windows = windowsOf(ArrayRef(filter.shape).drop_front(2), op.getStrides(),
                              op.getDilations(), op.getPads());
  image = padded(builder, asImage(builder, image, windows), windows);
  filter = asImage(builder, filter, windows);
  auto groups = static_cast<int64_t>(op.getGroups());
  if (groups > 1) {
    image = builder.apply("split", {3, image.shape[image.shape.size() - 3] / groups}, {image});
    filter = builder.apply("split", {4, filter.shape[0] / groups}, {filter});
  }
  if (!batch.leads(op.getInput()))
    filter = builder.apply("repeat", {filter.rank() + 1, image.shape[0]}, {filter});
  ShapedTerm result =
      windows.haveGaps()
          ? convWithGaps(builder, image, filter, windows)
          : builder.apply("conv", {windows.rowStep, windows.columnStep}, {image, filter});
  if (groups > 1)
    result = builder.apply("join", {3}, {result});
  return asResult(builder, result, windows);
}

ShapedTerm poolTerm(hr::PoolOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                    const BatchAxis &batch) {
  if (op.getLayout() != hr::ChannelLayout::First)
    refuse("has its channels last");
  Windows windows = windowsOf(op.getWindow(), op.getStrides(), op.getDilations(), op.getPads());
  bool isMax = op.getKind() == hr::PoolKind::Max;
  bool isAverage = op.getKind() == hr::PoolKind::Average;
  if (isAverage && windows.arePadded() && !op.getIncludePad())
    refuse("averages windows of different sizes");
  ShapedTerm image = asImage(builder, operands.of(op.getInput()), windows);
  image =
      isMax ? paddedForMaximum(builder, operands, image, windows) : padded(builder, image, windows);
  if (isMax && windows.rows == windows.columns && windows.rowStep == windows.columnStep &&
      !windows.haveGaps())
    return builder.apply("maxpool", {windows.rows, windows.rowStep}, {image});
  // The elements of a window one after the other, each for all windows at once.
  ShapedTerm parts = windowsIn(builder, image, windows);
  int64_t width = parts.shape[parts.shape.size() - 2];
  parts = builder.apply("transpose", {2, 3}, {parts});
  parts = builder.apply("join", {2}, {builder.apply("join", {1}, {parts})});
  parts = builder.apply("transpose", {1, 2}, {parts});
  ShapedTerm result = builder.reduce(isMax ? "max" : "add", 2, parts);
  if (isAverage) {
    ShapedTerm part = operands.scalar(1.0 / static_cast<double>(windows.size()));
    result = builder.function("mul", {result, builder.broadcast(part, result.shape)});
  }
  result = builder.apply("split", {1, width}, {result});
  return builder.reshaped(asResult(builder, result, windows), batch.inner(op.getResult()));
}

} // namespace headrace::coarse
