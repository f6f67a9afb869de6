#pragma once

#include "script/graph/Dag.h"
#include <functional>

namespace headrace::script {

struct DagOptions {
  /// Facts known of a variable before the block; null if there is no such variable.
  std::function<const Known *(const std::string &)> variable;
  /// The values of the symbols that sizes mention. Without them (before the run) nothing is
  /// rejected and nothing is cut.
  std::optional<std::vector<int64_t>> symbols;
  /// A graph of more statements than this ends early.
  size_t maxStatements = SIZE_MAX;
  /// Variables that have the same value in every iteration of a loop: what is made of them alone is
  /// computed once.
  std::set<std::string> invariant;
  /// Whether a function that has no operation of its own can be executed.
  std::function<bool(const std::string &)> executes;
};

/// The graph of the statements from `first` on, up to where sizes are not known any more, or to one
/// that reads the clock. Equal
/// values become one node, products of transposes are products, and what is composed of simpler
/// functions (var, trace, ...) is spelled out. Throws Error, with its place, if sizes or types
/// do not fit.
Dag buildDag(const StatementList &statements, size_t first, const DagOptions &options);

} // namespace headrace::script
