// Sizes, reductions and loops of level-2 tensors, read without changing anything.
#pragma once

#include "transform/kernels/KernelShapes.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace headrace::cuda {

using Point = llvm::SmallVector<mlir::AffineExpr>;
inline constexpr int64_t kWarp = 32; // threads

/// How many positions a loop has, as an expression of the symbols; null if that is unknown.
mlir::AffineExpr loopSize(mlir::linalg::GenericOp op, unsigned dim);

/// How many elements the loops of a reduction from `from` on reduce; many if that is not known.
int64_t elementsFrom(mlir::linalg::GenericOp op, unsigned from);
/// Whether an operation reduces a few elements, of a known number, for each of its points: windows
/// of pooling and of depthwise convolutions.
bool isWindow(mlir::linalg::GenericOp op);

/// How a reduction's partial results are combined; null if that is not one operation.
mlir::Operation *combinerOf(mlir::linalg::GenericOp op);
/// `combiner` of two values.
mlir::Value combine(mlir::OpBuilder &b, mlir::Operation *combiner, mlir::Value a, mlir::Value c);
/// The value a reduction starts from if that is the same for all of its points.
mlir::Value startOf(mlir::linalg::GenericOp op);
/// The loops' positions at a point of the result; empty if it does not determine the parallel
/// ones. Reduction loops have none (null).
Point loopsAt(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::AffineExpr> point);

} // namespace headrace::cuda
