// What expansions are estimated with; only ratios of the results matter.
#pragma once

#include "analysis/Machine.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// What memory moves in a microsecond for one core.
inline constexpr double kBytesPerMicrosecond = 10e3;

/// Open sizes are guessed.
double sizeOrGuess(mlir::AffineExpr size);
double bytesOf(mlir::Value value);
/// Additions and multiplications of a sum of products.
double operationsOf(mlir::Operation *op);

/// The arithmetic of an operator on one core.
double computeMicroseconds(mlir::Operation *op, const Machine &machine, double efficiency);

} // namespace headrace
