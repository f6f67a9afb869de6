// Convolution of images with filters.
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

/// A window that never fits gives no meaningful result. Dynamic dimensions are restricted to sizes
/// in which the window fits, as far as their range can say it.
static void checkFits(NodeContext &c, const Window &window) {
  if (window.open)
    return;
  for (size_t i = 0; i < window.rank(); ++i) {
    AffineExpr padded = c.shape(0)[i + 2] + (window.pads[i] + window.pads[window.rank() + i]);
    if (!c.tryRequireNonNegative(padded - window.extent(i)) &&
        c.isNegative(padded - window.extent(i)))
      c.fail(ErrorKind::ShapeMismatch,
             "the window of extent {0} is larger than the padded input {1}", window.extent(i),
             c.text({padded}));
  }
}

ConvolutionAttributes readConvolution(NodeContext &c, size_t filter) {
  size_t spatial = spatialRank(c);
  c.checkRank(filter, c.rank(0));
  if (!c.type(filter).hasStaticShape())
    c.fail(ErrorKind::Unsupported, "{0}: expected a constant shape, got {1}", c.nameOfInput(filter),
           c.text(c.shape(filter)));
  ArrayRef<int64_t> filterShape = c.type(filter).getShape();
  ArrayRef<int64_t> size = filterShape.drop_front(2);
  if (c.node.find("kernel_shape") &&
      !llvm::equal(windowNumbers(c, "kernel_shape", spatial, 1, 1), size))
    c.fail(ErrorKind::ShapeMismatch, "attribute 'kernel_shape' differs from the filter {0}",
           c.text(c.shape(filter)));
  if (llvm::any_of(filterShape, [](int64_t d) { return d < 1 || d > kMaxWindow; }))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected a filter with elements, got {1}",
           c.nameOfInput(filter), c.text(c.shape(filter)));
  int64_t groups = c.node.getInt("group", 1);
  if (groups < 1 || filterShape[0] % groups != 0)
    c.fail(ErrorKind::InvalidModel, "expected groups that divide the {0} features, got {1}",
           filterShape[0], groups);
  Window window = readWindow(c, size);
  checkFits(c, window);
  return {std::move(window), groups};
}

Value perFeature(NodeContext &c, Value values, int64_t spatialRank) {
  SymbolicShape shape = shapeOf(values);
  shape.append(spatialRank, c.dim(1));
  return c.reshape(values, shape);
}

Value convolution(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), filter = c.input(1);
  c.checkSameType(0, 1);
  ConvolutionAttributes conv = readConvolution(c, 1);
  auto zero = cast<TypedAttr>(c.builder.getZeroAttr(c.type(0).getElementType()));
  input = padOpenSizes(c, input, conv, zero);
  Value result = c.infer<hr::ConvOp>(input, filter, conv.strides, conv.dilations, conv.pads,
                                     conv.groups, hr::ChannelLayout::First, TypeAttr());
  if (!c.has(2))
    return result;
  c.checkRank(2, 1);
  c.checkSameType(0, 2);
  if (!sameSize(c.shape(2)[0], c.shape(1)[0]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} values, got {2}", c.nameOfInput(2),
           c.text({c.shape(1)[0]}), c.text(c.shape(2)));
  Value bias = perFeature(c, c.input(2), c.rank(0) - 2);
  return c.map({result, bias}, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
}

void importConv(NodeContext &c) { c.result(convolution(c)); }

} // namespace headrace::onnx
