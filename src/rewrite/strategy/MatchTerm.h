// A rule at one term, without an e-graph.
#pragma once

#include "rewrite/rule/Rule.h"

namespace headrace::rewrite {

/// The substitution under which the rule's left-hand side is the term, if its conditions hold.
std::optional<Bindings> matchTerm(const RuleInstance &instance, const Terms &terms, TermId term,
                                  const Facts &facts);

/// The term that the rule makes of this one; nothing if it does not fit.
std::optional<TermId> applyToTerm(const RuleInstance &instance, Terms &terms, TermId term,
                                  const Facts &facts);

} // namespace headrace::rewrite
