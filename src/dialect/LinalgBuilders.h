// Operations of linalg (level 2), built from the movement of operators (level 1).
#pragma once

#include "dialect/Movement.h"

#include "mlir/IR/Builders.h"

namespace headrace {

/// An uninitialized tensor of the result's shape.
mlir::Value emptyLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value result);
mlir::Value zerosLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value result);

/// A `linalg.generic` over the movement's domain; `body` sees one scalar per input, then the
/// accumulator.
mlir::Value
generic(mlir::OpBuilder &b, mlir::Location loc, const Movement &m, mlir::ValueRange inputs,
        mlir::Value init,
        llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)> body);

} // namespace headrace
