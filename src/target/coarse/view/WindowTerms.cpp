// Convolutions and poolings of images; rows of elements are images of one row.
#include "target/coarse/view/OperatorTerms.h"

using namespace mlir;

namespace headrace::coarse {

using rewrite::Shape;
using rewrite::ShapedTerm;

namespace {

/// Windows over one or two axes; a missing one is of size 1.
struct Windows {
  int64_t rows = 1, columns = 1, rowStep = 1, columnStep = 1;
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  bool isFlat = false; // of one axis alone

  bool arePadded() const { return top + left + bottom + right != 0; }
  int64_t size() const { return rows * columns; }
};

Windows windowsOf(ArrayRef<int64_t> sizes, ArrayRef<int64_t> strides, ArrayRef<int64_t> dilations,
                  ArrayRef<int64_t> pads) {
  if (sizes.empty() || sizes.size() > 2)
    refuse("has windows over " + Twine(sizes.size()) + " axes, and terms over one or two");
  if (llvm::any_of(dilations, [](int64_t d) { return d != 1; }))
    refuse("has windows with gaps");
  if (llvm::any_of(pads, [](int64_t pad) { return pad < 0; }))
    refuse("has windows that leave out borders");
  Windows windows;
  windows.isFlat = sizes.size() == 1;
  windows.columns = sizes.back();
  windows.columnStep = strides.back();
  windows.left = pads[sizes.size() - 1];
  windows.right = pads.back();
  if (!windows.isFlat) {
    windows.rows = sizes[0];
    windows.rowStep = strides[0];
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
  ShapedTerm result = builder.apply("conv", {windows.rowStep, windows.columnStep}, {image, filter});
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
  if (isMax && windows.arePadded())
    refuse("takes the maximum of windows with padding, and terms pad with zeros");
  bool isAverage = op.getKind() == hr::PoolKind::Average;
  if (isAverage && windows.arePadded() && !op.getIncludePad())
    refuse("averages windows of different sizes");
  ShapedTerm image = asImage(builder, operands.of(op.getInput()), windows);
  if (isMax && windows.rows == windows.columns && windows.rowStep == windows.columnStep)
    return builder.apply("maxpool", {windows.rows, windows.rowStep}, {image});
  image = padded(builder, image, windows);
  // The elements of a window one after the other, each for all windows at once.
  ShapedTerm parts = builder.apply("slide", {2, windows.rows, windows.rowStep}, {image});
  parts = builder.apply("slide", {1, windows.columns, windows.columnStep}, {parts});
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
