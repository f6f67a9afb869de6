// Small vocabulary of the rewriting passes: known values, moved values.
#pragma once

#include "dialect/Hr.h"
#include "dialect/Permutation.h"

#include "mlir/IR/Builders.h"

namespace headrace {

/// The transposed value; a reshape if no element moves, the value itself if nothing changes.
mlir::Value transposed(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                       llvm::ArrayRef<int64_t> permutation);
/// The value under another shape; the value itself if it has that shape.
mlir::Value reshaped(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<mlir::AffineExpr> shape);
/// The value with leading dimensions of size 1 up to a rank.
mlir::Value withRank(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t rank);

/// A constant, or a few operators of constants only: known once fold-constants has run.
bool isKnown(mlir::Value value, int depth = 8);

/// Whether operands of these types broadcast to exactly `shape`.
bool broadcastTo(mlir::ValueRange operands, llvm::ArrayRef<mlir::AffineExpr> shape);

} // namespace headrace
