// Changes of a scalar's type: between floats and integers, between integers of more and fewer bits,
// with and without signs.
#pragma once

#include "target/vta/fixed/IntegerStages.h"

namespace headrace::vta {

/// A number of the type that a constant is computed in.
double rounded(double number, mlir::Type type);

/// A narrow integer is known by its low bits: as a number with or without a sign. Throws
/// Unsupported.
Scalar normalized(Scalar scalar, mlir::Type type, bool isSigned, const IntegerStages &integers);

/// An integer as a float.
Scalar toFloat(Scalar scalar, mlir::Type type, IntegerStages &integers);
/// A float as an integer, rounding toward 0. Throws Unsupported.
Scalar toIntegerType(Scalar scalar, mlir::Type type, IntegerStages &integers);

} // namespace headrace::vta
