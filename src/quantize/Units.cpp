#include "quantize/Units.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <cmath>
#include <span>

namespace headrace::quantize {

using Found = std::variant<Unit, std::string>;

/// Sums of more products of 8-bit integers, and a bias, may leave 32 bits.
static constexpr int64_t kMaxTerms = int64_t{1} << 16;

static bool has(const onnx::Node &node, size_t input) {
  return node.inputs.size() > input && !node.inputs[input].empty();
}

/// The numbers as f32, times a factor.
static Tensor singles(const Tensor &tensor, float factor = 1) {
  Tensor result = Tensor::allocate(DType::F32, tensor.shape());
  Tensor single = tensor.converted(DType::F32);
  const float *from = single.as<float>();
  std::transform(from, from + single.elements(), result.as<float>(),
                 [&](float number) { return number * factor; });
  return result;
}

static void checkFinite(const Tensor &tensor, const onnx::Node &node, const std::string &value) {
  for (float number : std::span(tensor.as<float>(), static_cast<size_t>(tensor.elements())))
    if (!std::isfinite(number))
      throw Error(ErrorKind::InvalidModel, node.describe() + ": " + inQuotes(value) +
                                               ": expected finite values, got " +
                                               std::to_string(number));
}

/// Why a constant cannot be a weight.
static std::string whyNoWeight(const Tensor &tensor) {
  if (tensor.dtype() != DType::F32)
    return "weights of type " + std::string(nameOf(tensor.dtype()));
  if (tensor.elements() == 0)
    return "no weights";
  return "";
}

/// The bias as Conv and Gemm read it; an empty reason if it is one number a channel.
static std::string readBias(Unit &unit, const onnx::Node &node, const onnx::GraphView &view,
                            float factor) {
  if (!has(node, 2))
    return "";
  const Tensor *bias = view.constant(node.inputs[2]);
  if (!bias)
    return "its bias is not a constant";
  int64_t channels = unit.weight->numbers.shape()[unit.weight->channelAxis];
  if (bias->elements() != channels || (!bias->shape().empty() && bias->shape().back() != channels))
    return "its bias has the shape " + shapeString(bias->shape()) + ", not one number a channel";
  unit.bias = Bias{unit.nodes[0], 2, singles(*bias, factor).reshaped({channels}), 0};
  checkFinite(unit.bias->numbers, node, node.inputs[2]);
  return "";
}

static Found convolution(size_t at, const onnx::Node &node, const onnx::GraphView &view) {
  const Tensor *weight = view.constant(node.inputs[1]);
  if (!weight)
    return "its weights are not constants";
  if (std::string reason = whyNoWeight(*weight); !reason.empty())
    return reason;
  Unit unit{{at}, {node.inputs[0]}, Weight{node.inputs[1], 1, 0, singles(*weight)}, {}, {}};
  checkFinite(unit.weight->numbers, node, node.inputs[1]);
  if (weight->shape().size() < 3)
    return "weights of the shape " + shapeString(weight->shape());
  if (weight->elements() / weight->shape()[0] > kMaxTerms)
    return "sums of more than " + std::to_string(kMaxTerms) + " products overflow 32 bits";
  if (std::string reason = readBias(unit, node, view, 1); !reason.empty())
    return reason;
  return unit;
}

static Found gemm(size_t at, const onnx::Node &node, const onnx::GraphView &view) {
  const Tensor *weight = view.constant(node.inputs[1]);
  if (!weight)
    return "its second matrix is not a constant";
  if (node.getInt("transA", 0) != 0)
    return "it reads its first matrix transposed";
  if (std::string reason = whyNoWeight(*weight); !reason.empty())
    return reason;
  if (weight->shape().size() != 2)
    return "weights of the shape " + shapeString(weight->shape());
  int64_t axis = node.getInt("transB", 0) != 0 ? 0 : 1;
  float alpha = node.getFloat("alpha", 1), beta = node.getFloat("beta", 1);
  Unit unit{
      {at}, {node.inputs[0]}, Weight{node.inputs[1], 1, axis, singles(*weight, alpha)}, {}, {}};
  checkFinite(unit.weight->numbers, node, node.inputs[1]);
  if (weight->shape()[1 - axis] > kMaxTerms)
    return "sums of more than " + std::to_string(kMaxTerms) + " products overflow 32 bits";
  if (std::string reason = readBias(unit, node, view, beta); !reason.empty())
    return reason;
  return unit;
}

/// The addition of one constant number a channel that follows a product with weights on its right.
static void takeBias(Unit &unit, const onnx::Graph &graph, const onnx::GraphView &view) {
  std::optional<size_t> next = view.onlyReader(unit.output);
  if (!next || !isOperator(graph.nodes[*next], "Add"))
    return;
  const onnx::Node &add = graph.nodes[*next];
  size_t input = add.inputs[0] == unit.output ? 1 : 0;
  const Tensor *bias = view.constant(add.inputs[input]);
  const Shape &weight = unit.weight->numbers.shape();
  bool isRow = bias && !bias->shape().empty() && bias->dtype() == DType::F32 &&
               bias->elements() == weight.back() && bias->shape().back() == weight.back();
  if (!isRow || unit.weight->channelAxis != static_cast<int64_t>(weight.size()) - 1)
    return;
  auto axis = static_cast<int64_t>(bias->shape().size()) - 1;
  unit.bias = Bias{*next, input, singles(*bias), axis};
  checkFinite(unit.bias->numbers, add, add.inputs[input]);
  unit.nodes.push_back(*next);
  unit.output = add.outputs[0];
}

static Found matrixProduct(size_t at, const onnx::Node &node, const onnx::GraphView &view) {
  const Tensor *constants[] = {view.constant(node.inputs[0]), view.constant(node.inputs[1])};
  if (constants[0] && constants[1])
    return "it computes a constant";
  if (!constants[0] && !constants[1])
    return Unit{{at}, {node.inputs[0], node.inputs[1]}, {}, {}, {}};
  size_t input = constants[0] ? 0 : 1;
  const Tensor &weight = *constants[input];
  auto rank = static_cast<int64_t>(weight.shape().size());
  if (std::string reason = whyNoWeight(weight); !reason.empty())
    return reason;
  if (rank < 2)
    return "one factor is a vector";
  int64_t axis = input == 1 ? rank - 1 : rank - 2;
  Unit unit{{at},
            {node.inputs[1 - input]},
            Weight{node.inputs[input], input, axis, singles(weight)},
            {},
            {}};
  checkFinite(unit.weight->numbers, node, node.inputs[input]);
  if (weight.shape()[input == 1 ? rank - 2 : rank - 1] > kMaxTerms)
    return "sums of more than " + std::to_string(kMaxTerms) + " products overflow 32 bits";
  return unit;
}

static Found addition(size_t at, const onnx::Node &node, const onnx::GraphView &view) {
  for (const std::string &input : node.inputs)
    if (view.constant(input))
      return "it adds a constant";
  return Unit{{at}, {node.inputs[0], node.inputs[1]}, {}, {}, {}};
}

/// Relu, or Clip between constants, as the only reader of the result.
static void takeActivation(Unit &unit, const onnx::Graph &graph, const onnx::GraphView &view) {
  std::optional<size_t> next = view.onlyReader(unit.output);
  if (!next)
    return;
  const onnx::Node &node = graph.nodes[*next];
  if (!isOperator(node, "Relu") && !isOperator(node, "Clip"))
    return;
  for (size_t i = 1; i < node.inputs.size(); ++i)
    if (has(node, i) && !view.constant(node.inputs[i]))
      return;
  unit.nodes.push_back(*next);
  unit.output = node.outputs[0];
}

Found unitAt(size_t at, const onnx::Graph &graph, const onnx::GraphView &view) {
  const onnx::Node &node = graph.nodes[at];
  if (!has(node, 0) || !has(node, 1) || node.outputs.empty())
    return "";
  Found found;
  if (isOperator(node, "Conv"))
    found = convolution(at, node, view);
  else if (isOperator(node, "Gemm"))
    found = gemm(at, node, view);
  else if (isOperator(node, "MatMul"))
    found = matrixProduct(at, node, view);
  else if (isOperator(node, "Add"))
    found = addition(at, node, view);
  else
    return "";
  auto *unit = std::get_if<Unit>(&found);
  if (!unit)
    return found;
  for (const std::string &input : unit->inputs)
    if (view.constant(input))
      return "it computes a constant";
  unit->output = node.outputs[0];
  if (unit->weight && isOperator(node, "MatMul"))
    takeBias(*unit, graph, view);
  takeActivation(*unit, graph, view);
  return found;
}

} // namespace headrace::quantize
