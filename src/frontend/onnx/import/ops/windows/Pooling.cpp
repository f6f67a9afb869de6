// Poolings: the maximum, average or norm of each window.
#include "dialect/scalar/Combine.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/windows/Windows.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

struct PoolWindow : Window {
  /// How much further than its high pad the last window may reach; what is there does not count.
  SmallVector<int64_t> overhang;

  /// The overhang as high pads.
  void padOverhang() {
    for (size_t i = 0; i < rank(); ++i)
      pads[rank() + i] += overhang[i];
    overhang.assign(rank(), 0);
  }
};

} // namespace

/// The result's size rounded up: less than a stride, and not so far that a window starts in the
/// high padding. Of a known size it is as far as the window does reach.
static int64_t overhangRoundedUp(const Window &window, size_t i, std::optional<int64_t> size) {
  int64_t stride = window.strides[i], extent = window.extent(i);
  int64_t low = window.pads[i], high = window.pads[window.rank() + i];
  int64_t reach = std::min(stride - 1, extent - 1 - high);
  if (size)
    reach = std::max<int64_t>(reach - (*size + low + high + reach - extent) % stride, 0);
  return reach;
}

/// A window larger than the padded input: ONNX Runtime rounds the number of strides towards 0. So
/// there is one window that reaches beyond it by less than a stride, or none.
static int64_t overhangOfLargeWindow(NodeContext &c, const Window &window, size_t i, int64_t size) {
  int64_t stride = window.strides[i], extent = window.extent(i);
  int64_t missing = extent - size - window.pads[i] - window.pads[window.rank() + i];
  if (missing >= 2 * stride || size == 0)
    c.fail(ErrorKind::ShapeMismatch,
           "expected a window that reaches less than two strides beyond the padded input, got one "
           "of extent {0} over {1} elements",
           extent, extent - missing);
  return missing % stride;
}

/// Dynamic dimensions are restricted to sizes in which the window fits, as far as their range can
/// say it.
static int64_t overhangOf(NodeContext &c, const Window &window, size_t i, bool roundsUp) {
  AffineExpr size = c.shape(0)[i + 2];
  AffineExpr left = size + (window.pads[i] + window.pads[window.rank() + i] - window.extent(i));
  auto known = constantValue(size);
  if (known && *known >= 0 && c.isNegative(left))
    return overhangOfLargeWindow(c, window, i, *known);
  if (!c.tryRequireNonNegative(left) && c.isNegative(left))
    c.fail(ErrorKind::ShapeMismatch,
           "the window of extent {0} is larger than the padded input of {1}", window.extent(i),
           c.text({size}));
  return roundsUp ? overhangRoundedUp(window, i, known) : 0;
}

static PoolWindow readPoolWindow(NodeContext &c) {
  size_t spatial = spatialRank(c);
  if (!c.node.find("kernel_shape"))
    c.fail(ErrorKind::InvalidModel, "attribute 'kernel_shape' is missing");
  PoolWindow window{readWindow(c, windowNumbers(c, "kernel_shape", spatial, 1, 1)),
                    SmallVector<int64_t>(spatial, 0)};
  for (size_t i = 0; i < 2 * spatial; ++i)
    if (window.pads[i] >= window.extent(i % spatial))
      c.fail(ErrorKind::InvalidModel, "expected pads smaller than the window, got {0}",
             window.pads[i]);
  bool roundsUp = c.node.getInt("ceil_mode", 0) != 0;
  for (size_t i = 0; !window.open && i < spatial; ++i)
    window.overhang[i] = overhangOf(c, window, i, roundsUp);
  return window;
}

static Value pool(NodeContext &c, Value input, hr::PoolKind kind, const Window &window,
                  bool includePad = false) {
  return c.infer<hr::PoolOp>(input, kind, window.size, window.strides, window.dilations,
                             window.pads, includePad, hr::ChannelLayout::First);
}

static TypedAttr zeroOf(NodeContext &c, Value tensor) {
  return cast<TypedAttr>(c.builder.getZeroAttr(elementTypeOf(tensor)));
}

static void importMaxPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  PoolWindow window = readPoolWindow(c);
  window.padOverhang();
  Window padded = window;
  Type type = c.type(0).getElementType();
  TypedAttr least =
      type.isUnsignedInteger() ? zeroOf(c, input) : hr::neutralValue(hr::ReduceKind::Max, type);
  Value maximum = pool(c, padOpenSizes(c, input, padded, least), hr::PoolKind::Max, padded);
  c.result(maximum);
  if (c.node.outputs.size() > 1 && !c.node.outputs[1].empty())
    c.result(maximumPlaces(c, maximum, window, c.node.getInt("storage_order", 0) != 0), 1);
}

/// The sum of each window; padding adds nothing to it.
static Value windowSums(NodeContext &c, Value input, PoolWindow window) {
  window.padOverhang();
  Value padded = padOpenSizes(c, input, window, zeroOf(c, input));
  return pool(c, padded, hr::PoolKind::Sum, window);
}

/// The root of a sum of powers.
static Value powerSum(NodeContext &c, Value input, double p, function_ref<Value(Value)> sum) {
  auto power = [&](Value x, double exponent) {
    return c.map(x, [&](ScalarMath &m, ValueRange v) {
      return m.op<math::PowFOp>(v[0], m.number(v[0], exponent));
    });
  };
  Value absolute = c.map(input, [](ScalarMath &m, ValueRange v) { return m.abs(v[0]); });
  return power(sum(power(absolute, p)), 1 / p);
}

static void importLpPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  PoolWindow window = readPoolWindow(c);
  auto p = static_cast<double>(c.node.getInt("p", 2));
  c.result(powerSum(c, input, p, [&](Value powers) { return windowSums(c, powers, window); }));
}

static void importGlobalLpPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  spatialRank(c);
  auto p = static_cast<double>(c.node.getInt("p", 2));
  c.result(powerSum(c, input, p, [&](Value powers) {
    return c.reduce(hr::ReduceKind::Sum, powers, llvm::to_vector(llvm::seq<int64_t>(2, c.rank(0))),
                    /*keepDims=*/true);
  }));
}

/// x / (bias + alpha / size * sum of squares)^beta, the sum over neighbouring channels.
static void importLrn(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  if (c.rank(0) < 2)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 or more, got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  int64_t size = c.node.getInt("size", 0);
  if (size < 1 || size > kMaxWindow)
    c.fail(ErrorKind::InvalidModel, "attribute 'size': expected 1 to {0}, got {1}", kMaxWindow,
           size);
  SymbolicShape shape = c.shape(0);
  double alpha = c.node.getFloat("alpha", 1e-4F) / static_cast<double>(size);
  double beta = c.node.getFloat("beta", 0.75F), bias = c.node.getFloat("bias", 1);
  Value squares = c.map(input, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[0]); });
  // Channels as an image's rows.
  AffineExpr rest = c.product(ArrayRef<AffineExpr>(shape).drop_front(2));
  Window window{{size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0, size / 2, 0}};
  Value rows = c.reshape(squares, {shape[0], c.dim(1), shape[1], rest});
  Value sums = c.reshape(pool(c, rows, hr::PoolKind::Sum, window), shape);
  c.result(c.map({input, sums}, [&](ScalarMath &m, ValueRange x) {
    Value base = m.add(m.number(x[0], bias), m.mul(m.number(x[0], alpha), x[1]));
    return m.div(x[0], m.op<math::PowFOp>(base, m.number(x[0], beta)));
  }));
}

/// Sums divided by the number of elements in each window, which depends on dynamic dimensions.
static Value averageOfElements(NodeContext &c, Value input, const PoolWindow &window) {
  Type type = elementTypeOf(input), inner = innerType(type);
  SymbolicShape image = shapeOf(input);
  image[0] = image[1] = c.dim(1);
  Value counts = windowSums(c, c.broadcast(c.scalar(1, inner), image), window);
  return c.cast(divide(c, windowSums(c, c.cast(input, inner), window), counts), type);
}

Value averagePool(NodeContext &c, Value input, CountedPads counted) {
  PoolWindow window = readPoolWindow(c);
  bool includePad = c.node.getInt("count_include_pad", 0) != 0;
  if (window.open && !includePad)
    return averageOfElements(c, input, window);
  input = padOpenSizes(c, input, window, zeroOf(c, input));
  bool reachesBeyond = llvm::any_of(window.overhang, [](int64_t pad) { return pad != 0; });
  if (includePad && reachesBeyond && counted == CountedPads::Stated) {
    // The stated padding counts, what is beyond it does not: so it becomes part of the input.
    SmallVector<int64_t> low(2, 0), high(2, 0);
    low.append(window.pads.begin(), window.pads.begin() + window.rank());
    high.append(window.pads.begin() + window.rank(), window.pads.end());
    input = c.infer<hr::PadOp>(input, low, high, zeroOf(c, input));
    window.pads.assign(2 * window.rank(), 0);
    includePad = false;
  }
  window.padOverhang();
  return pool(c, input, hr::PoolKind::Average, window, includePad);
}

static void importAveragePool(NodeContext &c) {
  c.result(averagePool(c, c.input(0, Accepts::Floats), CountedPads::Stated));
}

template <hr::ReduceKind kind> static void importGlobalPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  spatialRank(c);
  c.result(c.reduce(kind, input, llvm::to_vector(llvm::seq<int64_t>(2, c.rank(0))), true));
}

OperatorFamily windowOperators() {
  static const Operator table[] = {
      {"Conv", 7, importConv},
      {"MaxPool", 7, importMaxPool},
      {"AveragePool", 7, importAveragePool},
      {"LpPool", 7, importLpPool},
      {"GlobalLpPool", 7, importGlobalLpPool},
      {"LRN", 7, importLrn},
      {"GlobalAveragePool", 7, importGlobalPool<hr::ReduceKind::Mean>},
      {"GlobalMaxPool", 7, importGlobalPool<hr::ReduceKind::Max>},
  };
  return table;
}

} // namespace headrace::onnx
