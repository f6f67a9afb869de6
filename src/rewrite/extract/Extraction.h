// The best term of a class: one node for each class that it needs, such that the sum of their
// costs is least. A term that is used twice is paid once. Finding the least is hard in general: a
// greedy choice is compared with a bound from below. If it may be improved, small graphs are
// searched exhaustively, by branch and bound.
#pragma once

#include "rewrite/egraph/EGraph.h"

namespace headrace::rewrite {

class CostModel {
public:
  virtual ~CostModel() = default;
  /// The node's cost without its operands: not negative; infinity if it must not be chosen.
  virtual double costOf(const EGraph &graph, NodeId node) const = 0;
};

/// Exact: no term costs less, or less by more than the tolerance. Greedy: a good one, and others
/// may cost as little as the bound.
enum class ExtractionMethod { Exact, Greedy };
std::string_view nameOf(ExtractionMethod method);

struct ExtractionLimits {
  double tolerance = 0;         ///< a difference of costs that does not matter
  size_t exactClasses = 1'500;  ///< larger graphs are not searched exhaustively
  size_t exactSteps = 100'000;  ///< nor longer than this; the best found until then is kept
  size_t greedySteps = 200'000; ///< attempts to improve a greedy choice
};

struct Extraction {
  ExtractionMethod method = ExtractionMethod::Greedy;
  double cost = 0;
  double least = 0; ///< no term costs less
  TermId term = 0;
  std::unordered_map<ClassId, NodeId> chosen; ///< by root, the classes of the term alone
};

/// Throws Error if every term has infinite cost. The graph is rebuilt.
Extraction extract(const EGraph &graph, ClassId root, const CostModel &cost, Terms &into,
                   const ExtractionLimits &limits = {});

} // namespace headrace::rewrite
