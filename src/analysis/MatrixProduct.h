// Contractions seen as (batched) matrix products.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// C[b, m, n] = sum_k op(A)[b, m, k] * op(B)[b, k, n] over row-major matrices.
struct MatrixProduct {
  mlir::AffineExpr batch, m, n, k;
  /// A is stored [k, m], B is stored [n, k].
  bool transposeA = false, transposeB = false;
  /// Whether the operand has a batch dimension of its own.
  bool batchedA = false, batchedB = false;
};

/// The product a contraction is, if every operand is a plain matrix (or a batch of them).
std::optional<MatrixProduct> asMatrixProduct(hr::ContractOp op);

/// How often each element of the operand is used, if that is known. Few times (a matrix times a
/// vector, or times few columns): reading it is what takes time.
std::optional<int64_t> usesOf(hr::ContractOp op, mlir::Value operand);
inline constexpr int64_t kFewUses = 16;

/// On a contraction: its loops put the second operand, which lies along the reduced dimension, into
/// the order of the result's columns themselves, a matrix of the batch at a time. Nothing else is
/// computed in them.
inline constexpr llvm::StringLiteral kTurnsOperandAttr = "hr.turns_operand";
/// The part of a core's cache that such a matrix may take.
inline constexpr double kTurnedPartOfCache = 0.25;

} // namespace headrace
