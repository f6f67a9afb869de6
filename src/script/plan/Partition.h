#pragma once

#include "script/plan/BlockPlan.h"

namespace headrace::script {

/// Whether a node could be part of a compiled segment: sizes known, dense, numbers only.
bool compilable(const Dag &dag, const Node &node);

/// Live nodes: those that results and effects need.
std::vector<bool> neededNodes(const Dag &dag, std::span<const std::pair<std::string, int>> results);

/// The steps without segments, in the order of the script, and the predicted time of those that
/// could be compiled.
void planOnHost(BlockPlan &plan, std::span<const int64_t> symbols);

/// Which nodes are worth compiling.
enum class Worth {
  Large, ///< those with much work, and what stands between them
  All
};

/// Puts nodes that are worth it into segments, as large as they can be: nodes of one segment do not
/// depend on each other through anything outside it. The models are left empty.
void planSegments(BlockPlan &plan, std::span<const int64_t> symbols, Worth worth);

} // namespace headrace::script
