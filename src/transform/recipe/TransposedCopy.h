// Copies into another order of two dimensions, square by square.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// Cuts a copy whose source lies along another dimension than its result into squares, which
/// vectors transpose in registers: element by element it would take as long as a good part of the
/// product that reads the copy. The last square along a dimension ends with it, over the one
/// before, whose elements it copies again. Returns whether it did: both dimensions must have a
/// known size of a square or more.
///
///   linalg.generic ins(%x : tensor<27x64xf32>) outs(%y : tensor<64x27xf32>) { transposed copy }
///   ->
///   scf.for %i = 0 to 64 step 8 { scf.for %j = 0 to 27 step 8 { %k = min(%j, 19)
///     linalg.generic ins(%x[%k, %i] [8, 8]) outs(%y[%i, %k] [8, 8]) { transposed copy } } }
bool copyInSquares(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp copy);

} // namespace headrace
