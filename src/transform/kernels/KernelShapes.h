// Sizes of the tensors inside a kernel, as expressions of the program's symbols.
#pragma once

#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// A size inside a kernel; null if it is no expression of symbols.
mlir::AffineExpr sizeExpr(mlir::OpFoldResult size, mlir::MLIRContext *context);
/// The shape of a tensor of an outlined kernel; nothing if a size is no such expression.
std::optional<SymbolicShape> kernelShape(mlir::Value tensor);
/// The sizes of an operation's loops; null if one is no such expression.
llvm::SmallVector<mlir::AffineExpr> loopSizes(mlir::linalg::LinalgOp op);

} // namespace headrace
