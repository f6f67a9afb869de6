// The search space of extraction: the classes a root may need, numbered from 0, each with its
// options. Options that no finite (acyclic) term can have are left out.
#pragma once

#include "rewrite/extract/Extraction.h"

namespace headrace::rewrite {

struct Option {
  NodeId node = 0;
  double cost = 0;
  std::vector<uint32_t> operands; ///< distinct, ascending
};

struct Choices {
  uint32_t root = 0;
  std::vector<std::vector<Option>> classes;
  std::vector<ClassId> ids;
  /// For each class, the option of its cheapest tree (shared parts count each time). Has no cycles.
  std::vector<uint32_t> cheapestTree;
};

Choices choicesFor(const EGraph &graph, ClassId root, const CostModel &cost);

/// An option per class; only those count that the root reaches.
using Selection = std::vector<uint32_t>;
inline constexpr uint32_t undecided = UINT32_MAX;

/// The sum over what the root reaches, each class once; infinity if that has a cycle.
double costOf(const Choices &choices, const Selection &selection);

/// No term of the root costs less, given that one costs `best`.
double minCost(const Choices &choices, double best);

/// Cheapest trees, then shared parts paid once, then single changes as long as they pay.
Selection selectGreedily(const Choices &choices, size_t steps);

/// Improves a selection to the best there is; false if the steps did not suffice to know.
bool selectExactly(const Choices &choices, Selection &best, size_t steps);

} // namespace headrace::rewrite
