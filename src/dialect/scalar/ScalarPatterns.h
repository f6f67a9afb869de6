// Formulas that several parts of the compiler recognise in scalar bodies.
#pragma once

#include "mlir/IR/Value.h"

#include <optional>

namespace headrace {

/// log(1 + exp(x)), written so that its exponential never overflows: max(x, 0) + log1p(t) with
/// t = exp(-|x|).
struct Softplus {
  mlir::Value x, t;
};
std::optional<Softplus> matchSoftplus(mlir::Value value);

/// x, if the value is 1 / (1 + exp(-x)).
std::optional<mlir::Value> matchLogistic(mlir::Value value);

} // namespace headrace
