// Convolution and pooling: a window that slides over the spatial dimensions.
#include "frontend/onnx/import/ops/windows/Windows.h"

#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

// Far beyond any image; keeps products of these numbers from overflowing.
static constexpr int64_t kMostWindow = int64_t(1) << 30;

SmallVector<int64_t> windowNumbers(NodeContext &c, const char *attribute, size_t count,
                                   int64_t otherwise, int64_t least) {
  std::vector<int64_t> found = c.node.getInts(attribute, std::vector<int64_t>(count, otherwise));
  if (found.size() != count)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected {1} numbers, found {2}", attribute,
           count, found.size());
  for (int64_t number : found)
    if (number < least || number > kMostWindow)
      c.fail(ErrorKind::InvalidModel,
             "attribute '{0}': expected numbers from {1} to {2}, found {3}", attribute, least,
             kMostWindow, number);
  return SmallVector<int64_t>(found.begin(), found.end());
}

/// Pads that make the result as large as the input divided by the stride.
static void padToSameSize(NodeContext &c, Window &window, bool moreAtEnd) {
  for (size_t i = 0; i < window.rank(); ++i) {
    AffineExpr dim = c.shape(0)[i + 2];
    auto size = constantValue(dim);
    int64_t stride = window.strides[i], total = window.extent(i) - 1;
    if (size)
      total = std::max<int64_t>(
          (llvm::divideCeil(*size, stride) - 1) * stride + window.extent(i) - *size, 0);
    else if (stride != 1)
      c.fail(ErrorKind::Unsupported,
             "auto_pad with strides over the free size {0} is not supported", c.text({dim}));
    int64_t less = total / 2, more = total - less;
    window.pads[i] = moreAtEnd ? less : more;
    window.pads[window.rank() + i] = moreAtEnd ? more : less;
  }
}

static Window readWindow(NodeContext &c, ArrayRef<int64_t> size) {
  Window window;
  window.size.assign(size.begin(), size.end());
  size_t rank = size.size();
  window.strides = windowNumbers(c, "strides", rank, 1, 1);
  window.dilations = windowNumbers(c, "dilations", rank, 1, 1);
  window.pads = windowNumbers(c, "pads", 2 * rank, 0, 0);
  std::string mode = c.node.getString("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER")
    padToSameSize(c, window, mode == "SAME_UPPER");
  else if (mode == "VALID")
    window.pads.assign(2 * rank, 0);
  else if (mode != "NOTSET")
    c.fail(ErrorKind::InvalidModel,
           "attribute 'auto_pad': expected NOTSET, VALID, SAME_UPPER or SAME_LOWER, found {0}",
           inQuotes(mode));
  return window;
}

/// A window that never fits gives no result anyone could mean. Free sizes are restricted as far as
/// their range can say it.
static void checkFits(NodeContext &c, const Window &window) {
  for (size_t i = 0; i < window.rank(); ++i) {
    AffineExpr padded = c.shape(0)[i + 2] + (window.pads[i] + window.pads[window.rank() + i]);
    if (!c.tryRequireNonNegative(padded - window.extent(i)) &&
        c.isNegative(padded - window.extent(i)))
      c.fail(ErrorKind::ShapeMismatch,
             "the window of extent {0} is larger than the padded input {1}", window.extent(i),
             c.text({padded}));
  }
}

size_t spatialRank(NodeContext &c) {
  if (c.rank(0) < 3)
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected rank 3 or more (batch, channels, spatial), found {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  return c.rank(0) - 2;
}

ConvolutionAttributes readConvolution(NodeContext &c, size_t filter) {
  size_t spatial = spatialRank(c);
  c.checkRank(filter, c.rank(0));
  if (!c.type(filter).hasStaticShape())
    c.fail(ErrorKind::Unsupported, "{0}: expected a constant shape, found {1}",
           c.nameOfInput(filter), c.text(c.shape(filter)));
  ArrayRef<int64_t> filterShape = c.type(filter).getShape();
  ArrayRef<int64_t> size = filterShape.drop_front(2);
  if (c.node.find("kernel_shape") &&
      !llvm::equal(windowNumbers(c, "kernel_shape", spatial, 1, 1), size))
    c.fail(ErrorKind::ShapeMismatch, "attribute 'kernel_shape' differs from the filter {0}",
           c.text(c.shape(filter)));
  if (llvm::any_of(filterShape, [](int64_t d) { return d < 1 || d > kMostWindow; }))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected a filter with elements, found {1}",
           c.nameOfInput(filter), c.text(c.shape(filter)));
  int64_t groups = c.node.getInt("group", 1);
  if (groups < 1 || filterShape[0] % groups != 0)
    c.fail(ErrorKind::InvalidModel, "expected groups that divide the {0} features, found {1}",
           filterShape[0], groups);
  Window window = readWindow(c, size);
  checkFits(c, window);
  return {window.strides, window.dilations, window.pads, groups};
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
  Value result = c.infer<hr::ConvOp>(input, filter, conv.strides, conv.dilations, conv.pads,
                                     conv.groups, hr::ChannelLayout::First, TypeAttr());
  if (!c.has(2))
    return result;
  c.checkRank(2, 1);
  c.checkSameType(0, 2);
  if (!sameSize(c.shape(2)[0], c.shape(1)[0]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} values, found {2}", c.nameOfInput(2),
           c.text({c.shape(1)[0]}), c.text(c.shape(2)));
  Value bias = perFeature(c, c.input(2), c.rank(0) - 2);
  return c.map({result, bias}, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); });
}

static void importConv(NodeContext &c) { c.result(convolution(c)); }

/// How much further than its high pad the last window may reach when the result's size is rounded
/// up: less than a stride, and not so far that a window starts in the high padding. Of a known size
/// it is as far as it does reach.
static SmallVector<int64_t> overhang(NodeContext &c, const Window &window) {
  SmallVector<int64_t> extra;
  for (size_t i = 0; i < window.rank(); ++i) {
    int64_t stride = window.strides[i], extent = window.extent(i);
    int64_t low = window.pads[i], high = window.pads[window.rank() + i];
    int64_t reach = std::min(stride - 1, extent - 1 - high);
    if (auto size = constantValue(c.shape(0)[i + 2]))
      reach = std::max<int64_t>(reach - (*size + low + high + reach - extent) % stride, 0);
    extra.push_back(reach);
  }
  return extra;
}

static Window readPoolWindow(NodeContext &c) {
  size_t spatial = spatialRank(c);
  if (!c.node.find("kernel_shape"))
    c.fail(ErrorKind::InvalidModel, "attribute 'kernel_shape' is missing");
  Window window = readWindow(c, windowNumbers(c, "kernel_shape", spatial, 1, 1));
  for (size_t i = 0; i < 2 * spatial; ++i)
    if (window.pads[i] >= window.extent(i % spatial))
      c.fail(ErrorKind::InvalidModel, "expected pads smaller than the window, found {0}",
             window.pads[i]);
  checkFits(c, window);
  return window;
}

static Value pool(NodeContext &c, Value input, hr::PoolKind kind, const Window &window,
                  bool includePad) {
  return c.infer<hr::PoolOp>(input, kind, window.size, window.strides, window.dilations,
                             window.pads, includePad, hr::ChannelLayout::First);
}

static void addHighPads(Window &window, ArrayRef<int64_t> extra) {
  for (size_t i = 0; i < extra.size(); ++i)
    window.pads[window.rank() + i] += extra[i];
}

static void importMaxPool(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  Window window = readPoolWindow(c);
  if (c.node.getInt("ceil_mode", 0) != 0)
    addHighPads(window, overhang(c, window));
  Value maximum = pool(c, input, hr::PoolKind::Max, window, false);
  c.result(maximum);
  if (c.node.outputs.size() > 1 && !c.node.outputs[1].empty())
    c.result(maximumPlaces(c, maximum, window, c.node.getInt("storage_order", 0) != 0), 1);
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
  Window window = readPoolWindow(c);
  if (c.node.getInt("ceil_mode", 0) != 0)
    addHighPads(window, overhang(c, window));
  auto p = static_cast<double>(c.node.getInt("p", 2));
  c.result(powerSum(c, input, p, [&](Value powers) {
    return pool(c, powers, hr::PoolKind::Sum, window, false);
  }));
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
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 or more, found {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
  int64_t size = c.node.getInt("size", 0);
  if (size < 1 || size > kMostWindow)
    c.fail(ErrorKind::InvalidModel, "attribute 'size': expected 1 to {0}, found {1}", kMostWindow,
           size);
  SymbolicShape shape = c.shape(0);
  double alpha = c.node.getFloat("alpha", 1e-4F) / static_cast<double>(size);
  double beta = c.node.getFloat("beta", 0.75F), bias = c.node.getFloat("bias", 1);
  Value squares = c.map(input, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[0]); });
  // Channels as an image's rows.
  AffineExpr rest = c.product(ArrayRef<AffineExpr>(shape).drop_front(2));
  Window window{{size, 1}, {1, 1}, {1, 1}, {(size - 1) / 2, 0, size / 2, 0}};
  Value rows = c.reshape(squares, {shape[0], c.dim(1), shape[1], rest});
  Value sums = c.reshape(pool(c, rows, hr::PoolKind::Sum, window, false), shape);
  c.result(c.map({input, sums}, [&](ScalarMath &m, ValueRange x) {
    Value base = m.add(m.number(x[0], bias), m.mul(m.number(x[0], alpha), x[1]));
    return m.div(x[0], m.op<math::PowFOp>(base, m.number(x[0], beta)));
  }));
}

Value averagePool(NodeContext &c, Value input) {
  Window window = readPoolWindow(c);
  bool includePad = c.node.getInt("count_include_pad", 0) != 0;
  SmallVector<int64_t> extra(window.rank(), 0);
  if (c.node.getInt("ceil_mode", 0) != 0)
    extra = overhang(c, window);
  if (includePad && llvm::any_of(extra, [](int64_t pad) { return pad != 0; })) {
    // The stated padding counts, what lies beyond it does not: so it becomes part of the input.
    SmallVector<int64_t> low(2, 0), high(2, 0);
    low.append(window.pads.begin(), window.pads.begin() + window.rank());
    high.append(window.pads.begin() + window.rank(), window.pads.end());
    Type type = elementTypeOf(input);
    input = c.infer<hr::PadOp>(input, low, high, cast<TypedAttr>(c.builder.getZeroAttr(type)));
    window.pads.assign(2 * window.rank(), 0);
    includePad = false;
  }
  addHighPads(window, extra);
  return pool(c, input, hr::PoolKind::Average, window, includePad);
}

static void importAveragePool(NodeContext &c) {
  c.result(averagePool(c, c.input(0, Accepts::Floats)));
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
