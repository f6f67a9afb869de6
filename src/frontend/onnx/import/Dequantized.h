// Floats that integers stand for, by DequantizeLinear nodes with constant scales and zero points.
#pragma once

#include "frontend/onnx/import/GraphView.h"

namespace headrace::onnx {

/// A float that integers stand for.
struct Dequantized {
  std::string integers, scaleName, zeroName; // "" if there is no zero point
  const Tensor *scale, *zero;                // null if there is none
  int64_t axis;
  DType type; // of the integers
  bool isOneScale() const { return scale->elements() == 1; }
  bool isBytes() const { return type == DType::I8 || type == DType::U8; }
};

/// Whether it is a standard operator of the graph's version; the body of a function may have one of
/// another.
bool is(const Node &node, const char *opType);
/// Whether input `i` is given.
bool has(const Node &node, size_t i);

/// Nothing if the value is not such a float.
std::optional<Dequantized> dequantized(const Graph &graph, const GraphView &view,
                                       const std::string &value);

} // namespace headrace::onnx
