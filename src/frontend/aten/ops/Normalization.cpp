// Softmax and normalizations. Parameters and running statistics may be wider than what is
// normalized.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

#include <limits>
#include <numeric>

namespace headrace::aten {

static Write softmax(bool log) {
  return [log](Call &c) -> Value {
    Node x = c.tensor("self");
    if (c.rank(x) == 0)
      return c.full(log ? 0 : 1, c.type(), {});
    return c.b.softmax(c.b.cast(x, c.type()), c.axis("dim", c.rank(x)), log);
  };
}

/// The least finite value of a type.
static double lowest(DType type) {
  switch (type) {
  case DType::F64:
    return std::numeric_limits<double>::lowest();
  case DType::F16:
    return -65504;
  case DType::BF16:
    return -3.3895313892515355e38;
  default:
    return std::numeric_limits<float>::lowest();
  }
}

/// 0 where x is -inf: in rows that are nothing else, too, and so are the gradients.
static Value safeSoftmax(Call &c) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Node x = c.b.cast(c.tensor("self"), c.type());
  Node masked = c.map("equal", {x, -infinity});
  if (c.rank(x) == 0)
    return c.select(masked, 0, 1, c.type());
  Node finite = c.map("max", {x, lowest(c.type())});
  return c.select(masked, 0, c.b.softmax(finite, c.axis("dim", c.rank(x)), false), c.type());
}

static Node layerNormed(Call &c, size_t dims) {
  Node x = c.tensor("input");
  DType type = c.type(x);
  int64_t axis = c.rank(x) - static_cast<int64_t>(dims);
  c.require(axis >= 0, "at most as many dimensions as the input has");
  x = c.widened(x);
  auto scale = c.widened(c.optionalTensor("weight")), bias = c.widened(c.optionalTensor("bias"));
  Sizes own = c.b.shape(x);
  if (!scale)
    scale = c.full(1, c.type(x), own.from(axis));
  return c.b.cast(c.b.layerNorm(x, *scale, bias, axis, c.number("eps", 1e-5)), type);
}

/// Mean and 1 / deviation, if anything reads them.
static List withStatistics(Call &c, Node result, Node x, const Integers &axes) {
  if (!c.resultIsUsed(1) && !c.resultIsUsed(2))
    return List{result, {}, {}};
  Moments found = moments(c, c.widened(x), axes, 0);
  Node factor = c.map("rsqrt", {c.map("add", {found.variance, c.number("eps", 1e-5)})});
  auto shaped = [&](Node each, size_t number) -> Value {
    if (!c.resultIsUsed(number))
      return {};
    return c.b.cast(c.b.reshape(each, c.result(number).sizes), c.result(number).type);
  };
  return List{result, shaped(found.mean, 1), shaped(factor, 2)};
}

static Integers lastAxes(Call &c, Node x, int64_t count) {
  Integers axes(count);
  std::iota(axes.begin(), axes.end(), c.rank(x) - count);
  return axes;
}

static Value nativeLayerNorm(Call &c) {
  Node x = c.tensor("input");
  auto dims = static_cast<int64_t>(c.sizes("normalized_shape").size());
  Node result = layerNormed(c, dims);
  // PyTorch's gradient leaves the statistics out, here and below.
  return withStatistics(c, result, c.b.detach(x), lastAxes(c, x, dims));
}

static Value layerNorm(Call &c) { return layerNormed(c, c.sizes("normalized_shape").size()); }

static Value rmsNorm(Call &c) {
  Node x = c.tensor("input");
  DType type = c.type(x);
  auto dims = static_cast<int64_t>(c.sizes("normalized_shape").size());
  c.require(dims <= c.rank(x), "at most as many dimensions as the input has");
  double eps = c.has("eps")         ? c.number("eps")
               : type == DType::F64 ? std::numeric_limits<double>::epsilon()
                                    : std::numeric_limits<float>::epsilon();
  Node wide = c.widened(x);
  Node power = reduced(c, "mean", c.map("square", {wide}), lastAxes(c, x, dims), true);
  Node normal = c.map("mul", {wide, c.map("rsqrt", {c.map("add", {power, eps})})});
  if (auto scale = c.widened(c.optionalTensor("weight")))
    normal = c.map("mul", {normal, *scale});
  return c.b.cast(normal, type);
}

/// Scaled and shifted, channel by channel.
static Node affine(Call &c, Node x, std::optional<Node> scale, std::optional<Node> bias) {
  if (scale)
    x = c.map("mul", {x, c.perChannel(*scale, c.rank(x))});
  return bias ? c.map("add", {x, c.perChannel(*bias, c.rank(x))}) : x;
}

static Node groupNormed(Call &c, int64_t groups) {
  Node x = c.tensor("input");
  DType type = c.type(x);
  Sizes shape = c.b.shape(x);
  c.require(shape.size() >= 2 && groups > 0, "channels in groups");
  x = c.widened(x);
  auto scale = c.widened(c.optionalTensor("weight")), bias = c.widened(c.optionalTensor("bias"));
  Size whole = c.product(shape.from(1));
  Size size = c.b.arithmetic("floordiv", whole, groups);
  Node rows = c.b.reshape(x, {shape[0], groups, size});
  Node ones = c.full(1, c.type(x), {size});
  Node normal = c.b.layerNorm(rows, ones, std::nullopt, 2, c.number("eps", 1e-5));
  return c.b.cast(affine(c, c.b.reshape(normal, shape), scale, bias), type);
}

static Value nativeGroupNorm(Call &c) {
  int64_t groups = c.integer("group");
  Node result = groupNormed(c, groups), x = c.tensor("input");
  Sizes shape = c.b.shape(x);
  Size size = c.b.arithmetic("floordiv", c.product(shape.from(1)), groups);
  return withStatistics(c, result, c.b.reshape(x, {shape[0], groups, size}), {2});
}

static Value groupNorm(Call &c) { return groupNormed(c, c.integer("num_groups")); }

static Node normalizedByStatistics(Call &c) {
  Node x = c.tensor("input");
  DType type = c.type(x);
  Sizes channels{c.b.shape(x).at(1)};
  x = c.widened(x);
  DType wide = c.type(x);
  auto parameter = [&](const char *name, double otherwise) {
    auto given = c.widened(c.optionalTensor(name));
    return given ? *given : c.full(otherwise, wide, channels);
  };
  Node scale = parameter("weight", 1), bias = parameter("bias", 0);
  Node mean = parameter("running_mean", 0), variance = parameter("running_var", 1);
  return c.b.cast(c.b.batchNorm(x, scale, bias, mean, variance, c.number("eps", 1e-5)), type);
}

/// All dimensions but the channels.
static Integers batchAxes(Call &c) {
  Integers axes{0};
  for (int64_t i = 2; i < c.rank(c.tensor("input")); ++i)
    axes.push_back(i);
  return axes;
}

namespace {
struct Normalized {
  Node result, mean, variance;
};
} // namespace

static Normalized normalizedByBatch(Call &c) {
  Node x = c.tensor("input");
  DType type = c.type(x);
  x = c.widened(x);
  auto scale = c.widened(c.optionalTensor("weight")), bias = c.widened(c.optionalTensor("bias"));
  Moments found = moments(c, x, batchAxes(c), 0);
  Node factor = c.map("rsqrt", {c.map("add", {found.variance, c.number("eps", 1e-5)})});
  Node normal = c.map("mul", {c.map("sub", {x, found.mean}), factor});
  Sizes channels{c.b.shape(x).at(1)};
  return {c.b.cast(affine(c, normal, scale, bias), type), c.b.reshape(found.mean, channels),
          c.b.reshape(found.variance, channels)};
}

/// Normalization by given statistics: those of the batch have no elements then.
static List withoutStatistics(Call &c) {
  List results{normalizedByStatistics(c)};
  for (size_t i : {1, 2})
    results.push_back(c.resultIsUsed(i) ? c.full(0, c.result(i).type, c.result(i).sizes) : Value());
  return results;
}

static Value batchNormInference(Call &c) { return withoutStatistics(c); }

static Value batchNorm(Call &c) {
  if (c.flag("training", false))
    c.unsupported("batch_norm in training, which changes its statistics");
  return normalizedByStatistics(c);
}

/// In training: by the batch's own statistics, which also move the running ones.
static Value functionalBatchNorm(Call &c) {
  if (!c.flag("training", true)) {
    List results = withoutStatistics(c);
    results.insert(results.end(), {c["running_mean"], c["running_var"]});
    return results;
  }
  Normalized found = normalizedByBatch(c);
  Node x = c.tensor("input"), wide = c.widened(x);
  Node total = c.count(wide, batchAxes(c), c.type(wide));
  Node unbiased = c.map("mul", {found.variance, c.map("div", {total, c.map("sub", {total, 1})})});
  double momentum = c.number("momentum", 0.1);
  auto moved = [&](const char *name, Node now) -> Value {
    Node kept = c.map("mul", {c.tensor(name), 1 - momentum});
    return c.map("add", {kept, c.map("mul", {c.b.detach(now), momentum})});
  };
  List results = withStatistics(c, found.result, c.b.detach(x), batchAxes(c));
  results.push_back(moved("running_mean", found.mean));
  results.push_back(moved("running_var", unbiased));
  return results;
}

static Value batchNormWithoutRunning(Call &c) {
  return withStatistics(c, normalizedByBatch(c).result, c.b.detach(c.tensor("input")),
                        batchAxes(c));
}

Operators normalizationOperators() {
  return {
      {"_softmax", softmax(false)},
      {"softmax.int", softmax(false)},
      {"_log_softmax", softmax(true)},
      {"log_softmax.int", softmax(true)},
      {"_safe_softmax", safeSoftmax},
      {"native_layer_norm", nativeLayerNorm},
      {"layer_norm", layerNorm},
      {"rms_norm", rmsNorm},
      {"native_group_norm", nativeGroupNorm},
      {"group_norm", groupNorm},
      {"batch_norm", batchNorm},
      {"_native_batch_norm_legit_no_training", batchNormInference},
      {"_native_batch_norm_legit_functional", functionalBatchNorm},
      {"_native_batch_norm_legit.no_stats", batchNormWithoutRunning},
  };
}

} // namespace headrace::aten
