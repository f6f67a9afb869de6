// The share of a reduction's points that a condition on indices lets through: half of a triangle.
#pragma once

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

/// For loops of these extents; 1 if there is no such condition. `cpu-bound-loops` leaves out the
/// other points.
double keptShare(mlir::linalg::GenericOp op, llvm::ArrayRef<double> extents);

} // namespace headrace
