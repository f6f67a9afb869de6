// Functions of cells as scalar formulas of level 1.
#pragma once

#include "dialect/scalar/ScalarMath.h"

#include "script/language/CellFunctions.h"
#include <optional>

namespace headrace::script {

/// All operands are f64, and so is the result: truth is 1 or 0. `constants` holds the values of
/// operands that are literals.
mlir::Value cellFormula(ScalarMath &math, CellFunction function, mlir::ValueRange operands,
                        llvm::ArrayRef<std::optional<double>> constants);

} // namespace headrace::script
