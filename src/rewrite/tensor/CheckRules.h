// Tests rules for equal meaning: both sides of each are evaluated on random data of random shapes
// that fit the rule's left-hand side and conditions.
#pragma once

#include "rewrite/rule/Parse.h"
#include "rewrite/tensor/Operators.h"

namespace headrace::rewrite {

struct CheckOptions {
  uint64_t seed = 0;
  size_t trials = 25;        ///< examples of each rule
  size_t attempts = 200'000; ///< at most, to find them: most random shapes fit no rule
};

struct RuleFault {
  const Rule *rule = nullptr;
  std::string reason; ///< with the counter-example, in lines
};

struct RuleCheck {
  size_t rules = 0, trials = 0;
  /// Broken rules, and those for which no example was found, which count as broken: they are
  /// untested.
  std::vector<RuleFault> faults;
};

/// Checks each rule on random data. The data depend on the seed and the rule, not on other rules.
RuleCheck checkRules(const RuleSet &rules, const OperatorSet &operators, Vocabulary &vocabulary,
                     const CheckOptions &options = {});

} // namespace headrace::rewrite
