// Numbers of the values of level 1, by which results of kernels are known to be those values. A
// number is part of an operator's location: passes that rewrite an operator pass it on.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <optional>

namespace headrace {

/// Numbers the operators of a function that have one result, except for constants.
void numberValues(mlir::func::FuncOp function);

/// If several operators have a number, because a pass wrote one as several: leaves it to the
/// last, which computes the value.
void keepLastNumbers(mlir::func::FuncOp function);

/// The number of the result; nothing in a function without numbers.
std::optional<int64_t> valueNumber(mlir::OpResult result);

/// The location of an operation whose results are the values of these operators, each at the
/// location given: a result whose location has no number is not one of them.
mlir::Location locationOfResults(llvm::ArrayRef<mlir::Location> results);
/// The location of a result, as `locationOfResults` took it.
mlir::Location locationOf(mlir::OpResult result);
/// The location without its number, but unlike any other.
mlir::Location withoutNumber(mlir::Location location, unsigned index);

} // namespace headrace
