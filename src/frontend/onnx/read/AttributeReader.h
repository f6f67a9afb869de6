// AttributeProto to Attribute.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"
#include "frontend/onnx/read/TensorReader.h"
#include "frontend/onnx/read/Wire.h"

#include <optional>

namespace headrace::onnx {

/// An attribute except for its graph, which is left to the reader of graphs.
struct ReadAttribute {
  Attribute attribute;
  std::optional<wire::Bytes> graph; // set if the attribute is a graph
};

/// Errors name the attribute; the caller names the node.
ReadAttribute readAttribute(wire::Bytes, TensorSource &);

} // namespace headrace::onnx
