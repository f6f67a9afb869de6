// Numbers of 8 bits and less in scalar formulas: floats by their bits (runtime/tensor/SmallFloat.h
// has the formats), integers of 4 and 2 bits in a byte.
#pragma once

#include "dialect/scalar/ScalarMath.h"

namespace headrace {

/// In single precision, exactly.
mlir::Value smallToFloat(ScalarMath &math, mlir::Value number);

/// Any number in a float of 8 or 4 bits, rounded once.
mlir::Value floatToSmall(ScalarMath &math, mlir::Value number, mlir::Type type, bool saturates);

/// The low bits of a byte that a type of 4 or 2 bits has, extended by their sign or by zeros.
mlir::Value lowBits(ScalarMath &math, mlir::Value byte, mlir::Type type);

} // namespace headrace
