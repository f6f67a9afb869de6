// Data movement of one operator: which elements each point of its iteration domain reads and
// writes.
#pragma once

#include "mlir/Dialect/Utils/StructuredOpsUtils.h"
#include "mlir/IR/AffineMap.h"

namespace headrace {

struct Movement {
  /// Size of each iteration dimension, an expression over the program's symbols.
  llvm::SmallVector<mlir::AffineExpr> domain;
  /// The iterator type of each dimension: reduction or parallel.
  llvm::SmallVector<mlir::utils::IteratorType> iterators;
  /// Per operand, then the result: the element touched. A null map: all of it once, in an order the
  /// domain does not say (reshapes, data-dependent indices).
  llvm::SmallVector<mlir::AffineMap> maps;
  /// Dimensions whose position is itself a value that the body reads.
  llvm::SmallVector<unsigned> indexed;
  /// Scalar operations at each point.
  int64_t operationsPerPoint = 0;

  /// Points of the domain times operations at each.
  mlir::AffineExpr operations(mlir::MLIRContext *context) const;
};

/// The movement of an operator that computes each result element on its own; no maps yet.
Movement overResult(mlir::Value result);
/// Every element of the value in its order.
mlir::AffineMap identityMap(mlir::Value value);
/// The map that reads `operand` broadcast to a domain of `rank` dimensions.
mlir::AffineMap broadcastMap(mlir::Value operand, unsigned rank);

} // namespace headrace
