// GraphProto to Graph.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "frontend/onnx/read/TensorReader.h"
#include "frontend/onnx/read/Wire.h"

namespace headrace::onnx {

/// Reads a graph and the graphs in its attributes. Errors name the node or tensor, not the file.
Graph readGraph(wire::Bytes, TensorSource &);

/// A node, and the graphs in its attributes.
Node readNode(wire::Bytes, TensorSource &);

/// The standard domain has two spellings; here it is "".
std::string canonicalDomain(std::string domain);

} // namespace headrace::onnx
