#pragma once

#include "script/host/Value.h"
#include "script/language/CellFunctions.h"
#include <span>

namespace headrace::script {

/// A function of cells on values of any kind and format, without compiling: scalars keep their
/// types, sparse operands stay sparse if zeros stay zeros.
Value applyCells(CellFunction function, std::span<const Value> operands);

} // namespace headrace::script
