// The cost model that ranks expansions on a device; only ratios of the results matter.
#pragma once

#include "dialect/scalar/HalfPrecision.h"
#include "target/expansion/Estimates.h"

namespace headrace::cuda {

/// The bandwidth of a device's memory.
inline constexpr double kDeviceBytesPerMicrosecond = 4e6;

/// The types that libraries of a device compute products of.
inline bool isLibraryType(mlir::Type type) { return type.isF32() || isHalf(type); }

/// An operator of two operands on a device, computed in blocks of `tile` by `tile` results: what
/// does not fill its processors leaves some of them idle.
double deviceMicroseconds(mlir::Operation *op, double efficiency, double tile);

} // namespace headrace::cuda
