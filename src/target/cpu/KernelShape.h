// What a kernel's operations look like to someone who chooses their loops.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// A sum of products of two operands.
bool isContraction(mlir::linalg::GenericOp op);
/// A reduction along the dimension in which its inputs lie contiguously.
bool reducesRows(mlir::linalg::GenericOp op);
llvm::SmallVector<std::string> reductionAxes(mlir::Operation *op);
/// Whether the last dimension of the result is the last one of what is read along it.
bool readsAlong(mlir::linalg::GenericOp op, unsigned dim);
bool hasDynamicReduction(mlir::linalg::GenericOp op);
/// A dimension of the second operand (weights) only.
bool isFeatureBlock(mlir::linalg::GenericOp op, unsigned dim);

} // namespace headrace
