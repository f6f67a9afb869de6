// Conditions that padding makes superfluous.
#pragma once

#include "frontend/expr/Accesses.h"

namespace headrace::expr {

/// select(inside, A[i - 1], 0) reads A padded with zeros: if the condition is nothing but that
/// the indices are inside, it is A[i - 1]. The expression without such conditions.
Expr withoutPaddingConditions(const Expr &value, const Domain &domain, SizeTable &sizes,
                              const Accesses &accesses);

} // namespace headrace::expr
