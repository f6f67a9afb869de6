// Equality saturation: applies rules to an e-graph until nothing new follows or a limit is reached.
// In either case the graph is rebuilt and everything in it is true: the best found so far can be
// extracted.
#pragma once

#include "rewrite/egraph/Proof.h"

namespace headrace::rewrite {

struct SaturationLimits {
  size_t nodes = 100'000; ///< the graph may have a few more: those of one application
  size_t iterations = 100;
  double seconds = 10;
  /// A rule with more matches than this in one iteration is left out of the next few; each time
  /// the number doubles, and so does the number of iterations.
  size_t matches = 2'000;
  size_t pause = 3;
};

enum class StopReason { Saturated, Nodes, Iterations, Seconds };
/// "nothing new follows", "the limit of nodes", ...
std::string_view textOf(StopReason reason);

struct Saturation {
  StopReason reason = StopReason::Saturated;
  size_t iterations = 0;
  double seconds = 0;
  struct Use {
    std::string rule;
    size_t matches = 0, merges = 0;
  };
  std::vector<Use> uses; ///< by rule, in the order given
};

/// Applies the rules until nothing changes or a limit is reached. The result is deterministic
/// unless the time limit ends it. `proof` must be attached to the graph.
Saturation saturate(EGraph &graph, std::span<const RuleInstance> rules, const Facts &facts,
                    const SaturationLimits &limits = {}, Proof *proof = nullptr);

} // namespace headrace::rewrite
