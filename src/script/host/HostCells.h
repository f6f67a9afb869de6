#pragma once

#include "script/host/Value.h"
#include "script/language/CellFunctions.h"
#include <span>

namespace headrace::script {

/// A function of cells on values of any kind and format, without compiling: scalars keep their
/// types, sparse operands stay sparse if zeros stay zeros.
Value applyCells(CellFunction function, std::span<const Value> operands);

/// function(x, v) of the cells of x, v being repeated over x; none if v is not a row or a column,
/// or if the result is better dense.
std::optional<CsrMatrix> withRepeated(CellFunction function, const CsrMatrix &x, const Tensor &v);

} // namespace headrace::script
