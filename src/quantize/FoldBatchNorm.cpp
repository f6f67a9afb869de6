// conv(x, W, b) then batchnorm(scale, shift, mean, variance):
//   conv(x, W * g, (b - mean) * g + shift) with g = scale / sqrt(variance + epsilon) per channel.
#include "frontend/onnx/import/GraphView.h"

#include "quantize/Prepare.h"
#include <cmath>

namespace headrace::quantize {

static Tensor inSingle(const Tensor *tensor) { return tensor->converted(DType::F32); }

namespace {

/// Normalization of each channel: multiplies by `factor`, then adds `offset`.
struct Affine {
  std::vector<double> factor, offset;
};

/// A product with the normalization after it.
struct Match {
  size_t product, normalization;
};

} // namespace

static bool isNormalization(const onnx::Node &node, const onnx::GraphView &view) {
  if (!node.domain.empty() || node.opType != "BatchNormalization" || node.inputs.size() != 5 ||
      node.getInt("training_mode", 0) != 0)
    return false;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (!view.constant(node.inputs[i]))
      return false;
  for (size_t i = 1; i < node.outputs.size(); ++i)
    if (!node.outputs[i].empty())
      return false;
  return true;
}

static bool isConvolution(const onnx::Node &node, const onnx::GraphView &view) {
  return node.domain.empty() && node.opType == "Conv" && node.inputs.size() > 1 &&
         view.constant(node.inputs[1]) && view.constant(node.inputs[1])->shape().size() > 2 &&
         (node.inputs.size() < 3 || node.inputs[2].empty() || view.constant(node.inputs[2]));
}

static std::optional<Match> findMatch(const onnx::Graph &graph, const onnx::GraphView &view) {
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!isNormalization(graph.nodes[i], view))
      continue;
    std::optional<size_t> product = view.producer(graph.nodes[i].inputs[0]);
    if (!product || !isConvolution(graph.nodes[*product], view) ||
        view.onlyReader(graph.nodes[i].inputs[0]) != i)
      continue;
    int64_t channels = view.constant(graph.nodes[*product].inputs[1])->shape()[0];
    if (view.constant(graph.nodes[i].inputs[1])->elements() == channels)
      return Match{*product, i};
  }
  return std::nullopt;
}

static Affine affineOf(const onnx::Node &node, const onnx::GraphView &view) {
  Tensor scale = inSingle(view.constant(node.inputs[1]));
  Tensor shift = inSingle(view.constant(node.inputs[2]));
  Tensor mean = inSingle(view.constant(node.inputs[3]));
  Tensor variance = inSingle(view.constant(node.inputs[4]));
  double epsilon = node.getFloat("epsilon", 1e-5f);
  Affine result;
  for (int64_t c = 0; c < scale.elements(); ++c) {
    double factor = scale.as<float>()[c] / std::sqrt(variance.as<float>()[c] + epsilon);
    result.factor.push_back(factor);
    result.offset.push_back(shift.as<float>()[c] - mean.as<float>()[c] * factor);
  }
  return result;
}

/// Each channel, a slice of the first dimension, times its factor.
static Tensor scaled(const Tensor &weight, const std::vector<double> &factors) {
  Tensor result = Tensor::allocate(DType::F32, weight.shape());
  int64_t inner = weight.elements() / std::max<int64_t>(weight.shape()[0], 1);
  const float *from = weight.as<float>();
  auto *to = result.as<float>();
  for (int64_t i = 0; i < weight.elements(); ++i)
    to[i] = static_cast<float>(from[i] * factors[static_cast<size_t>(i / inner)]);
  return result;
}

static Tensor biasOf(const Tensor *bias, const Affine &affine) {
  auto channels = static_cast<int64_t>(affine.factor.size());
  Tensor result = Tensor::allocate(DType::F32, {channels});
  Tensor before = bias ? inSingle(bias) : Tensor();
  for (int64_t c = 0; c < channels; ++c)
    result.as<float>()[c] = static_cast<float>(
        (before ? before.as<float>()[c] * affine.factor[c] : 0) + affine.offset[c]);
  return result;
}

static void fold(onnx::Graph &graph, const Match &match) {
  onnx::GraphView view(graph);
  onnx::FreshNames fresh(graph);
  onnx::Node &product = graph.nodes[match.product];
  const onnx::Node &normalization = graph.nodes[match.normalization];
  Affine affine = affineOf(normalization, view);
  bool hasBias = product.inputs.size() > 2 && !product.inputs[2].empty();
  Tensor weight = scaled(inSingle(view.constant(product.inputs[1])), affine.factor);
  Tensor bias = biasOf(hasBias ? view.constant(product.inputs[2]) : nullptr, affine);
  // Others may read the weights as they were.
  std::string weightName = fresh(product.inputs[1] + "_folded");
  std::string biasName =
      fresh((hasBias ? product.inputs[2] : product.inputs[1] + "_bias") + "_folded");
  graph.initializers.push_back({weightName, weight});
  graph.initializers.push_back({biasName, bias});
  product.inputs = {product.inputs[0], weightName, biasName};
  product.outputs = {normalization.outputs[0]};
  graph.nodes.erase(graph.nodes.begin() + static_cast<ptrdiff_t>(match.normalization));
}

void foldBatchNormalization(onnx::Graph &graph) {
  while (std::optional<Match> match = findMatch(graph, onnx::GraphView(graph)))
    fold(graph, *match);
}

} // namespace headrace::quantize
