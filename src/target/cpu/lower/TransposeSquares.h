// Squares of elements transposed in registers.
#pragma once

#include "mlir/IR/PatternMatch.h"

namespace headrace {

/// Transposes of square matrices with rows of 32 bytes (8 x 8 of 32-bit or 4 x 4 of 64-bit
/// elements) become shuffles of pairs of rows, one instruction each. The code generator, which sees
/// one shuffle of all elements, would take twice as many instructions.
void populateTransposeSquaresPatterns(mlir::RewritePatternSet &patterns);

} // namespace headrace
