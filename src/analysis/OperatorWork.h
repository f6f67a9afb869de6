// The work of operators of level 1 and of scalar functions, for cost models.
#pragma once

#include "analysis/cost/SizeHints.h"
#include "analysis/cost/Work.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// The sizes that costs of the program, or the outlined kernel, around an operation are estimated
/// with.
SizeHints sizeHints(mlir::Operation *op);
/// A size, or its size hint if it is dynamic.
int64_t sizeHint(mlir::AffineExpr size, const SizeHints &sizes);
double bytesAtHints(mlir::Value value, const SizeHints &sizes);

/// Operations of a scalar function at one point, by kind.
struct ScalarOperations {
  double simple = 0, division = 0, elementary = 0;
};
/// `varies` tells whether an argument differs from point to point, as all do if it is not given;
/// what depends on none that does is not counted.
ScalarOperations scalarOperations(mlir::Region &body,
                                  llvm::function_ref<bool(mlir::BlockArgument)> varies = nullptr);

/// Bytes of an operand that the operator reads: of a table that it picks from, an element at each
/// point at most.
mlir::AffineExpr bytesRead(hr::OperatorInterface op, unsigned operand, const SizeHints &sizes);

/// An operator in a kernel of its own, its operands found among each other.
Work workOf(hr::OperatorInterface op, const SizeHints &sizes);

/// The element type as rates know it.
DType rateType(mlir::Type type);

/// The type that products of two factors are computed in: that of the wider one.
DType productType(mlir::Value left, mlir::Value right);

} // namespace headrace
