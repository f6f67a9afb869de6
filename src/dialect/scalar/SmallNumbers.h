// Low-precision values in scalar formulas: 8-bit and smaller floats by their bits (formats in
// runtime/tensor/SmallFloat.h), 4-bit and 2-bit integers in a byte.
#pragma once

#include "dialect/scalar/ScalarMath.h"

namespace headrace {

/// In f32, exactly.
mlir::Value smallToFloat(ScalarMath &math, mlir::Value number);

/// Any number in a float of 8 or 4 bits, rounded once.
mlir::Value floatToSmall(ScalarMath &math, mlir::Value number, mlir::Type type, bool saturates);

/// The low bits of a byte that a type of 4 or 2 bits has, extended by their sign or by zeros.
mlir::Value lowBits(ScalarMath &math, mlir::Value byte, mlir::Type type);

} // namespace headrace
