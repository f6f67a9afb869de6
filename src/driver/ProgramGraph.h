// A program after a phase as plain data: operators or kernels with what they move and compute, and
// the values between them. For tools that show programs; no MLIR.
#pragma once

#include "runtime/tensor/DimExpr.h"

#include <optional>
#include <string>
#include <vector>

namespace headrace {

/// Another way to compute a node, as a step of a recipe.
struct AlternativeStep {
  std::string step;
  /// Predicted microseconds of the node then, on one thread at nominal sizes, if the cost model
  /// knows.
  std::optional<double> microseconds = {};
};

/// A node of a program's graph: an operator, kernel, input, output or constant.
struct GraphNode {
  /// Unique in the graph; that of an operator is its name in recipes.
  std::string id;
  /// The operator's ("conv", "map"), "kernel", a library's routine, "input", "output", "constant".
  std::string kind;
  /// The user's nodes that it comes from.
  std::vector<std::string> operators = {};
  /// The kernel that it is a stage of; empty if it is not a stage.
  std::string inside = {};
  DimExpr bytesRead = DimExpr::constant(0), bytesWritten = bytesRead, operations = bytesRead;
  /// Predicted microseconds of one thread at the size hints, if the cost model knows.
  std::optional<double> microseconds = {};
  /// The recipe of a scheduled kernel; empty for other nodes.
  std::string recipe = {};
  std::vector<AlternativeStep> alternatives = {};
  /// The IR of the node alone, if it was asked for.
  std::string code = {};
};

/// A value between two nodes.
struct GraphEdge {
  std::string from, to;
  std::string type;           // "f32"
  std::vector<DimExpr> shape; // empty, and no bytes, inside kernels of dynamic dimensions
  DimExpr bytes = DimExpr::constant(0);
};

/// A program after a phase, as data.
struct ProgramGraph {
  std::string model, phase;
  std::vector<std::string> symbols;
  std::vector<GraphNode> nodes; // in program order
  std::vector<GraphEdge> edges;
};

} // namespace headrace
