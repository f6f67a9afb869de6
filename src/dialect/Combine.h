// How reductions of each kind combine two scalars (level 2), and their neutral elements.
#pragma once

#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"

namespace headrace::hr {

mlir::Value combineValues(mlir::OpBuilder &builder, mlir::Location loc, ReduceKind kind,
                          mlir::Value sum, mlir::Value value);

/// The accumulator, the last of `args`, plus the product of the first two.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange args);

/// The neutral element of the combination, as 0 of a sum.
mlir::TypedAttr neutralValue(ReduceKind kind, mlir::Type type);

} // namespace headrace::hr
