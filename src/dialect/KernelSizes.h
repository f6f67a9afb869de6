// Dynamic dimensions inside kernels (level 2).
#pragma once

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/Builders.h"

namespace headrace {

/// A size as an operand: the number, or `hr.size` of the expression.
mlir::OpFoldResult sizeOperand(mlir::OpBuilder &builder, mlir::Location loc, mlir::AffineExpr size);
llvm::SmallVector<mlir::OpFoldResult> sizeOperands(mlir::OpBuilder &builder, mlir::Location loc,
                                                   llvm::ArrayRef<mlir::AffineExpr> sizes);

/// An uninitialized tensor.
mlir::Value emptyTensor(mlir::OpBuilder &builder, mlir::Location loc,
                        llvm::ArrayRef<mlir::AffineExpr> dims, mlir::Type elementType);

} // namespace headrace
