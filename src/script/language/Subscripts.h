// Whether two accesses to one variable, by different iterations of a loop, meet in a cell.
#pragma once

#include "script/language/Polynomial.h"

namespace headrace::script {

/// The iterations of a loop: `name` goes from `from` towards `to` in steps of `step`. What is not
/// known is absent.
struct LoopRange {
  std::string name;
  std::optional<Polynomial> from, to, step;
};

/// The rows, or the columns, that an access takes; absent bounds are not known.
struct SubscriptRange {
  std::optional<Polynomial> first, last;
};

/// True only if it is certain that `a` in one iteration and `b` in any other have no row (or
/// column) in common: by the GCD of the factors of the loop's variable, by the bounds of the
/// subscripts (Banerjee), or because ranges that move alike do not reach their neighbors.
bool neverMeet(const SubscriptRange &a, const SubscriptRange &b, const LoopRange &loop);

/// The rows or columns that an access takes in all iterations of a loop inside: `range` without
/// that loop's variable.
SubscriptRange overIterations(const SubscriptRange &range, const LoopRange &inner);

} // namespace headrace::script
