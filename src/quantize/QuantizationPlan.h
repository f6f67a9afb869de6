// Which values of a graph become integers, and which of them share a scale.
//
// A product (Conv, Gemm, MatMul) or an addition, with the bias and the Relu or Clip after it, is a
// unit: it reads int8, and its result becomes int8. Between units, operators that only move or
// select numbers keep the scale of what they read; everything else computes in floats on what the
// integers stand for.
#pragma once

#include "frontend/onnx/import/GraphView.h"

#include "quantize/Options.h"
#include <map>
#include <string>
#include <vector>

namespace headrace::quantize {

/// The constant operand of a product.
struct Weight {
  std::string value;       // its name in the graph
  size_t input = 1;        // of the node
  int64_t channelAxis = 0; // along which output channels lie
  Tensor numbers;          // f32; with what the node multiplies by
};

struct Bias {
  size_t node = 0;  // which reads it: the product, or the addition after it
  size_t input = 2; // of that node
  Tensor numbers;   // f32, in the shape that it is read in
  int64_t axis = 0; // of that shape, along which output channels lie
};

struct Unit {
  std::vector<size_t> nodes;       // first the product or addition, in order
  std::vector<std::string> inputs; // the values that become integers
  std::optional<Weight> weight;
  std::optional<Bias> bias;
  std::string output;
};

/// Values that share a scale.
struct Group {
  std::vector<std::string> members;
  /// The values that decide on the scale: all others are parts of these.
  std::vector<std::string> sources;
};

/// What is quantized: units, values with their groups, and reasons for the rest.
struct QuantizationPlan {
  std::vector<Unit> units;
  std::vector<Group> groups;
  std::map<std::string, size_t> groupOf; // of values that become integers
  /// Nodes that keep the scale of what they read.
  std::set<size_t> movers;
  /// Nodes that compute in floats, and why.
  std::map<size_t, std::string> reasons;
};

/// `refused` are nodes that stay float, and why, beyond what the graph tells.
QuantizationPlan makePlan(const onnx::Graph &graph, const onnx::GraphView &view,
                          const Options &options,
                          const std::map<size_t, std::string> &refused = {});

} // namespace headrace::quantize
