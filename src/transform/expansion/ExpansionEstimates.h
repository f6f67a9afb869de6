// What expansions are estimated with; only ratios of the results matter.
#pragma once

#include "analysis/Machine.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// What memory moves in a microsecond: of one core, of a device.
inline constexpr double kBytesPerMicrosecond = 10e3;
inline constexpr double kDeviceBytesPerMicrosecond = 4e6;

/// Open sizes are guessed.
double bytesOf(mlir::Value value);

/// The arithmetic of an operator on one core.
double computeMicroseconds(mlir::Operation *op, const Machine &machine, double efficiency);

/// An operator of two operands on a device, computed in blocks of `tile` by `tile` results: what
/// does not fill its processors leaves some of them idle.
double deviceMicroseconds(mlir::Operation *op, double efficiency, double tile);

} // namespace headrace
