#include "frontend/onnx/import/Dequantized.h"

namespace headrace::onnx {

bool is(const Node &node, const char *opType) {
  return node.domain.empty() && node.opType == opType && !node.opset;
}

bool has(const Node &node, size_t i) { return i < node.inputs.size() && !node.inputs[i].empty(); }

/// The type of integers tells their zero point, or where they come from.
static std::optional<DType> typeOf(const Graph &graph, const GraphView &view,
                                   const std::string &integers, const Tensor *zero) {
  if (zero)
    return zero->dtype();
  if (const Tensor *constant = view.constant(integers))
    return constant->dtype();
  std::optional<size_t> producer = view.producer(integers);
  if (!producer || !is(graph.nodes[*producer], "QuantizeLinear") || !has(graph.nodes[*producer], 2))
    return std::nullopt;
  const Tensor *given = view.constant(graph.nodes[*producer].inputs[2]);
  return given ? std::optional(given->dtype()) : std::nullopt;
}

std::optional<Dequantized> dequantized(const Graph &graph, const GraphView &view,
                                       const std::string &value) {
  std::optional<size_t> producer = view.producer(value);
  if (!producer || !is(graph.nodes[*producer], "DequantizeLinear"))
    return std::nullopt;
  const Node &node = graph.nodes[*producer];
  if (!has(node, 0) || !has(node, 1))
    return std::nullopt;
  const Tensor *scale = view.constant(node.inputs[1]);
  const Tensor *zero = has(node, 2) ? view.constant(node.inputs[2]) : nullptr;
  if (!scale || scale->dtype() != DType::F32 || scale->shape().size() > 1 ||
      (has(node, 2) && !zero) || node.getInt("block_size", 0) != 0 || node.find("output_dtype"))
    return std::nullopt;
  std::optional<DType> type = typeOf(graph, view, node.inputs[0], zero);
  if (!type)
    return std::nullopt;
  return Dequantized{node.inputs[0], node.inputs[1], has(node, 2) ? node.inputs[2] : "",
                     scale,          zero,           node.getInt("axis", 1),
                     *type};
}

} // namespace headrace::onnx
