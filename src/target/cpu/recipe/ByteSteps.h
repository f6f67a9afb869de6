// Sums of products of 8-bit integers in loops that run step by step, as vectors.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// Vectors of a CPU for int8 matmuls.
struct ByteVectors {
  int64_t bytes;
  bool hasDotProducts; // vpdpbusd; else vpmaddwd on 16-bit numbers
};

/// Rewrites an int8 matmul of unsigned by signed bytes; false if the operation is not one, or its
/// columns are not a multiple of a vector's. Weights have four terms of a column next to each
/// other:
///
///   %z = linalg.generic ins(%q, %w : tensor<8x256xi8>, tensor<64x4x256x4xi8>) outs(%zeros)
///        // z[row, column...] += extui q[row, 4 k + i] * extsi w[k, column..., i]
///   ->
///   scf.for columns { scf.for rows { scf.for %k iter_args(%sums) {
///     vector.transfer_read %q[row, 4 %k] ; vector.transfer_read %w[%k, column...] ; vpdpbusd } } }
bool multiplyBytes(mlir::RewriterBase &rewriter, mlir::linalg::GenericOp op, ByteVectors vectors);

} // namespace headrace
