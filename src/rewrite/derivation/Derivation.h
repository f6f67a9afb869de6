// How one term becomes another, rule by rule: the proof of an e-graph, told as a person would do
// it.
#pragma once

#include "rewrite/egraph/Proof.h"

namespace headrace::rewrite {

/// A rule applied to a part of the terms known to be equal to the first one so far: those that
/// follow by replacing equals by equals.
struct DerivationStep {
  RuleInstance rule;
  bool backwards = false;       ///< what its right-hand side fits becomes its left-hand side
  TermId before = 0, after = 0; ///< the part, and what it becomes
};

/// From one term of a class to another; `rules` are those of the saturation. No step comes twice:
/// what is equal at one place is equal wherever it stands.
std::vector<DerivationStep> derive(const Proof &proof, TermId from, TermId to,
                                   std::span<const RuleInstance> rules);

} // namespace headrace::rewrite
