// The gamma, error and Bessel functions as formulas.
#pragma once

#include "dialect/scalar/Formulas.h"

namespace headrace {

llvm::ArrayRef<NamedFormula> specialFormulas();

} // namespace headrace
