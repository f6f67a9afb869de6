// The order in which nodes can be imported: each after the nodes whose results it reads.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

namespace headrace::onnx {

/// The nodes as the file lists them where that works, reordered where not. A value that nothing
/// defines and nodes that wait for each other are Errors.
std::vector<const Node *> orderedNodes(const Graph &graph);

} // namespace headrace::onnx
