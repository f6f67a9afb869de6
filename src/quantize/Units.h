// Finds the units of a plan.
#pragma once

#include "quantize/QuantizationPlan.h"
#include <variant>

namespace headrace::quantize {

/// The unit that begins at a node, or why there is none; an empty reason for nodes that are not of
/// the kind that units begin with.
std::variant<Unit, std::string> unitAt(size_t node, const onnx::Graph &graph,
                                       const onnx::GraphView &view);

inline bool isOperator(const onnx::Node &node, std::string_view opType) {
  return node.domain.empty() && node.opType == opType;
}

} // namespace headrace::quantize
