// Strategies: which rule to apply where, for those who want to steer by hand. A strategy takes a
// term and gives another, or fails; combinators make new ones of others. None changes a term: a
// failure leaves nothing behind.
#pragma once

#include "rewrite/rule/Rule.h"

#include <functional>

namespace headrace::rewrite {

/// One application of a rule, as a strategy made it.
struct RewriteStep {
  const Rule *rule = nullptr;
  TermId before = 0, after = 0; ///< what was replaced, wherever it stood
};

/// Working state of strategies: terms, facts about them, and how often a rule may still be applied.
struct RewriteContext {
  Terms &terms;
  const Facts &facts;
  size_t applicationsLeft = 100'000; ///< beyond that an Error: a strategy that does not end
  std::vector<RewriteStep> steps;    ///< of what succeeded, in order
};

using Strategy = std::function<std::optional<TermId>(RewriteContext &, TermId)>;

/// Applies the rule at the root of a term; fails if it does not fit.
Strategy apply(RuleInstance rule);

Strategy id();
Strategy fail();
/// The second on the result of the first; fails if either does.
Strategy seq(Strategy first, Strategy second);
/// The first; if it fails, the second.
Strategy choice(Strategy first, Strategy second);
/// Never fails.
Strategy attempt(Strategy strategy); // "try" is a word of C++
/// Repeats until it fails; never fails itself.
Strategy repeat(Strategy strategy);
/// Once, at the first place that takes it: the term before its operands, from left to right.
Strategy topDown(Strategy strategy);
/// The same, operands first.
Strategy bottomUp(Strategy strategy);
/// Everywhere, until it fits nowhere; never fails.
Strategy normalize(Strategy strategy);

} // namespace headrace::rewrite
