// The cost model that ranks expansions; only ratios of the results matter.
#pragma once

#include "analysis/Machine.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// The memory bandwidth of one core.
inline constexpr double kBytesPerMicrosecond = 10e3;

/// Open sizes are guessed.
double sizeOrGuess(mlir::AffineExpr size);
double bytesOf(mlir::Value value);
/// Additions and multiplications of a sum of products.
double operationsOf(mlir::Operation *op);

/// The arithmetic of an operator on one core.
double computeMicroseconds(mlir::Operation *op, const Machine &machine, double efficiency);

} // namespace headrace
