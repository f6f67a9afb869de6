// The best term of a class: one node for each class that it needs, such that the sum of their
// costs is least. A term that is used twice is paid once. Finding the least is hard in general:
// small graphs are searched exhaustively, by branch and bound, larger ones greedily.
#pragma once

#include "rewrite/egraph/EGraph.h"

namespace headrace::rewrite {

class CostModel {
public:
  virtual ~CostModel() = default;
  /// The node's cost without its operands: not negative; infinity where it must not be chosen.
  virtual double costOf(const EGraph &graph, NodeId node) const = 0;
};

/// Exact: no term costs less. Greedy: a good one, and nothing is known of others.
enum class ExtractionMethod { Exact, Greedy };
std::string_view nameOf(ExtractionMethod method);

struct ExtractionLimits {
  size_t exactClasses = 1'500;  ///< larger graphs are not searched exhaustively
  size_t exactSteps = 100'000;  ///< nor longer than this; the best found until then is kept
  size_t greedySteps = 200'000; ///< attempts to improve a greedy choice
};

struct Extraction {
  ExtractionMethod method = ExtractionMethod::Greedy;
  double cost = 0;
  TermId term = 0;
  std::unordered_map<ClassId, NodeId> chosen; ///< by root, the classes of the term alone
};

/// Throws Error where every term has infinite cost. The graph is rebuilt.
Extraction extract(const EGraph &graph, ClassId root, const CostModel &cost, Terms &into,
                   const ExtractionLimits &limits = {});

} // namespace headrace::rewrite
