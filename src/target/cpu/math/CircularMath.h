// Sine, cosine and their inverses in single precision.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

void populateCircularMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
