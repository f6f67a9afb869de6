// Graphs of QuantizeLinear and DequantizeLinear as graphs on integers.
//
//   before:  Conv(DequantizeLinear(x), DequantizeLinear(w), DequantizeLinear(b))
//   after:   DequantizeLinear(Add(ConvInteger(x, w), b))
//
// Sums of products of 8-bit integers are exact in 32 bits, where those of floats are rounded, and
// bytes are a quarter of the data. The bias is added in integers if it has the scale of the
// product. Gemm and MatMul likewise. An operator that only moves or selects numbers, between a pair
// of one scale, moves the integers. Scales and zero points must be constants. Graphs inside of
// nodes are rewritten likewise.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

namespace headrace::onnx {

/// The graph with those changes; nullopt if there are none. Names of values that are left keep
/// what they stand for.
std::optional<Graph> integerGraph(const Graph &graph);

} // namespace headrace::onnx
