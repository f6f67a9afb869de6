// Sums, differences, products and quotients of scalars, by what these are. Of constants they are
// constants, with the rounding of their type.
#pragma once

#include "target/vta/fixed/IntegerStages.h"

namespace headrace::vta {

// `type` is that of the operands and the result. Throws Unsupported.

Scalar sum(const Scalar &a, const Scalar &b, mlir::Type type, IntegerStages &integers);
Scalar difference(const Scalar &a, const Scalar &b, mlir::Type type, IntegerStages &integers);
Scalar product(const Scalar &a, const Scalar &b, mlir::Type type, IntegerStages &integers);
Scalar quotient(const Scalar &a, const Scalar &b, mlir::Type type, IntegerStages &integers);

} // namespace headrace::vta
