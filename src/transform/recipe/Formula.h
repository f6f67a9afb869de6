// The computation of an operator at one point, as text.
#pragma once

#include "dialect/Hr.h"

namespace headrace {

/// "%0 = arith.mulf(a, b) ; %1 = arith.addf(c, %0) ; %1": equal texts are equal functions of the
/// operands' elements (and what a reduction holds, last). Empty if positions matter too.
std::string formulaOf(hr::OperatorInterface op);

} // namespace headrace
