#pragma once

#include "mlir/IR/Operation.h"

namespace headrace {

/// Writes all maxima and minima of floats, and those of the lanes of vectors, as comparisons.
void writeExtrema(mlir::Operation *function);

} // namespace headrace
