// Symbolic differentiation of scalar bodies: any map has a gradient without a rule of its own.
#pragma once

#include "mlir/IR/Builders.h"

namespace headrace {

/// Whether the value that `body` yields changes with its argument `index` in more than steps.
bool dependsOn(mlir::Block &body, unsigned index);

/// Writes `body` at the given scalars, one per argument, and the derivative of what it yields with
/// respect to its argument `index`, of the yielded type. In terms of the yielded value `result`
/// alone if that is possible (exp, tanh, relu, ...): whoever has it need not keep the arguments;
/// null: never.
/// Null if the body holds an operation without a derivative, which an error names. The body must
/// depend on the argument.
mlir::Value buildDerivative(mlir::OpBuilder &builder, mlir::Location loc, mlir::Block &body,
                            mlir::ValueRange scalars, mlir::Value result, unsigned index);

/// The derivative times a factor. If a choice makes it zero it stays zero, whatever the factor:
/// a NaN gradient does not pass through the operand that was not chosen.
mlir::Value scaleDerivative(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value derivative,
                            mlir::Value factor);

} // namespace headrace
