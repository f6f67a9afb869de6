// Sine, cosine and their inverses in f32.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

void populateCircularMathPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
