// Graphs that are attributes of nodes, written into the program where the node stands.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// The one result of the graph that is an attribute of the node, with `argument` for its one input.
/// The graph's nodes can read the values around the node; names defined in the graph stay local.
mlir::Value applySubgraph(NodeContext &c, const char *attribute, mlir::Value argument);

} // namespace headrace::onnx
