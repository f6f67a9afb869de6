// The order in which nodes can be imported: each after the nodes whose results it reads.
#pragma once

#include "frontend/onnx/read/OnnxModel.h"

#include <functional>

namespace headrace::onnx {

/// The nodes as the file lists them if that works, reordered if not. A value that nothing
/// defines and nodes that wait for each other are Errors.
std::vector<const Node *> orderedNodes(const Graph &graph);

/// Orders the nodes of a nested graph: `isOuter` says whether a value is defined around it.
std::vector<const Node *> orderedNodes(const Graph &graph,
                                       const std::function<bool(const std::string &)> &isOuter);

/// The values that a node reads: its inputs, and what the graphs in it take from around it.
std::vector<std::string> readsOf(const Node &node);

} // namespace headrace::onnx
