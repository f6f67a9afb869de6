// Small vocabulary of the gradients.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

namespace headrace::gradient {

using Gradients = mlir::FailureOr<llvm::SmallVector<mlir::Value>>;

/// The gradients of the operands, in order; null if an operand has none.
inline Gradients gradientsOf(std::initializer_list<mlir::Value> values) {
  return llvm::SmallVector<mlir::Value>(values);
}

bool isFloat(mlir::Value value);

/// A tensor whose elements all are `value`.
mlir::Value filled(mlir::OpBuilder &b, mlir::Location loc, mlir::RankedTensorType type,
                   double value);

mlir::Value reshaped(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<mlir::AffineExpr> shape);
mlir::Value broadcast(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                      llvm::ArrayRef<mlir::AffineExpr> shape);
mlir::Value reduced(mlir::OpBuilder &b, mlir::Location loc, hr::ReduceKind kind, mlir::Value value,
                    llvm::ArrayRef<int64_t> axes);

/// Element-wise, broadcasting.
mlir::Value sum(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value product(mlir::OpBuilder &b, mlir::Location loc, mlir::Value lhs, mlir::Value rhs);
mlir::Value scaled(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value, double factor);

/// The gradient of a broadcast: the value summed over the repeated dimensions, to a shape that
/// broadcasts to its own.
mlir::Value summedTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value value,
                     llvm::ArrayRef<mlir::AffineExpr> shape);

/// A size as a scalar of floating-point type, in a map's body.
mlir::Value sizeScalar(mlir::OpBuilder &b, mlir::Location loc, mlir::AffineExpr size,
                       mlir::Type type);

/// The number in another floating-point type.
mlir::Value converted(mlir::OpBuilder &b, mlir::Location loc, mlir::Value number, mlir::Type type);

} // namespace headrace::gradient
