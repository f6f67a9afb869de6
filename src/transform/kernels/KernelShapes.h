// Sizes of the tensors inside a kernel, as expressions of the program's symbols.
#pragma once

#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// A size inside a kernel; null if symbols do not express it.
mlir::AffineExpr sizeExpr(mlir::OpFoldResult size, mlir::MLIRContext *context);
/// The shape of a tensor of an outlined kernel; nothing if symbols do not express a size.
std::optional<SymbolicShape> kernelShape(mlir::Value tensor);
/// The sizes of an operation's loops; null for a size that symbols do not express.
llvm::SmallVector<mlir::AffineExpr> loopSizes(mlir::linalg::LinalgOp op);

} // namespace headrace
