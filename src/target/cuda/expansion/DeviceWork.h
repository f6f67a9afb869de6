// Products on a device, as work.
#pragma once

#include "analysis/Machine.h"
#include "analysis/OperatorWork.h"
#include "dialect/scalar/HalfPrecision.h"

namespace headrace::cuda {

/// The types that libraries of a device compute products of.
inline bool isLibraryType(mlir::Type type) { return type.isF32() || isHalf(type); }

/// An operator of two operands on a device, computed in blocks of `tile` by `tile` results at that
/// share of its speed: what does not fill its processors leaves some of them idle.
Work deviceWork(mlir::Operation *op, const Machine &machine, double efficiency, double tile);
/// The work of the operator by a library, whose epilogue is a separate kernel.
Work deviceLibraryWork(mlir::Operation *op, const Machine &machine, double efficiency);

/// A call of a library that computes so many results, without its first accesses to operands.
Work deviceCallWork(double results, double operations, DType type, const Machine &machine,
                    double efficiency);

} // namespace headrace::cuda
