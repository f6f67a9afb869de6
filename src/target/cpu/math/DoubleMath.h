// Math functions in double precision as arithmetic, within two units in the last place.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// exp, exp2, expm1, log, log2, log10, log1p and tanh of f64, scalars and vectors.
void populateDoubleMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
