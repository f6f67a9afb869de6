// How reductions of each kind combine two scalars (level 2), and their neutral elements.
#pragma once

#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"

namespace headrace::hr {

mlir::Value combineValues(mlir::OpBuilder &builder, mlir::Location loc, ReduceKind kind,
                          mlir::Value sum, mlir::Value value);

/// Which factors of a product are unsigned, though their type does not say so.
struct UnsignedFactors {
  bool first = false, second = false;
};

/// The accumulator, the last of `args`, plus the product of the first two, which are widened to its
/// type.
mlir::Value multiplyAdd(mlir::OpBuilder &builder, mlir::Location loc, mlir::ValueRange args,
                        UnsignedFactors areUnsigned = {});

/// The element type of sums of products: `accumulator` if one is given, which must be able to
/// hold the factors' numbers, else the one type that both factors have.
mlir::FailureOr<mlir::Type> accumulatorOf(std::optional<mlir::Location> loc, mlir::Type first,
                                          mlir::Type second, std::optional<mlir::Type> accumulator);

/// The neutral element of the combination, as 0 of a sum.
mlir::TypedAttr neutralValue(ReduceKind kind, mlir::Type type);

} // namespace headrace::hr
