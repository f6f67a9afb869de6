// Math functions in f32 as arithmetic, within two units in the last place.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Exponentials, logarithms, circular functions and their inverses, tanh and erf of f32 or vectors
/// of it.
void populateSingleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
