// The graph with QuantizeLinear and DequantizeLinear around what becomes integers.
#pragma once

#include "quantize/QuantizationPlan.h"
#include "quantize/Ranges.h"

namespace headrace::quantize {

/// A graph with pairs of them, and what its reports need.
struct QdqGraph {
  onnx::Graph graph;
  /// Floats that integers stand for: the name of the float instead of a value.
  std::map<std::string, std::string> dequantized;
  /// The weight scales of each unit; empty if it has no weight.
  std::vector<std::vector<float>> weightScales;
};

QdqGraph insertQdq(const onnx::Graph &graph, const QuantizationPlan &plan,
                   const std::vector<ActivationScale> &scales, const Options &options);

} // namespace headrace::quantize
