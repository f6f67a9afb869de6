// Small vocabulary of the rewriting passes: permutations, known values, moved values.
#pragma once

#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"

namespace headrace {

using Permutation = llvm::SmallVector<int64_t>;

/// `values` in the order of the permutation: element i is values[permutation[i]].
template <class T>
llvm::SmallVector<T> permuted(llvm::ArrayRef<T> values, llvm::ArrayRef<int64_t> permutation) {
  llvm::SmallVector<T> result;
  for (int64_t i : permutation)
    result.push_back(values[i]);
  return result;
}
Permutation inverse(llvm::ArrayRef<int64_t> permutation);

/// Whether transposing a tensor of this type keeps the order of its elements in memory.
bool movesUnitDimsOnly(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> permutation);

/// The transposed value; a reshape where no element moves, the value itself where nothing changes.
mlir::Value transposed(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                       llvm::ArrayRef<int64_t> permutation);
/// The value under another shape; the value itself where it has that shape.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<mlir::AffineExpr> shape);
/// The value with leading dimensions of size 1 up to a rank.
mlir::Value withRank(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t rank);

/// A constant, or a few operators of constants only: known once fold-constants has run.
bool isKnown(mlir::Value value, int depth = 8);

/// Whether operands of these types broadcast to exactly `shape`.
bool broadcastTo(mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineExpr> shape);

} // namespace headrace
