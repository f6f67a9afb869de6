// Squares of elements transposed in registers.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Transposes of squares whose rows fill 32 bytes, 8 x 8 of 32 bits or 4 x 4 of 64, become shuffles
/// of pairs of rows, each of which is an instruction: left to the code generator, which sees one
/// shuffle of all elements, they are twice as many.
void populateTransposeSquaresPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
