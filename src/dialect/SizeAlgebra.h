// Algebra of symbolic sizes. MLIR simplifies sums with constant factors; sizes are products of
// symbols as well.
#pragma once

#include "mlir/IR/AffineExpr.h"

#include <optional>

namespace headrace {

/// One form for all ways to write a sum of products of symbols: equal sizes become equal
/// expressions.
mlir::AffineExpr normalized(mlir::AffineExpr expr);

/// a / b where the division leaves no remainder for any values of the symbols; nullopt where that
/// is not known.
std::optional<mlir::AffineExpr> exactQuotient(mlir::AffineExpr a, mlir::AffineExpr b);

/// Whether an expression is small enough to compute with: a file can state sizes whose expressions
/// grow without bound, or whose coefficients overflow.
bool isManageable(mlir::AffineExpr expr, int64_t mostAbsolute);

/// Whether no value of the free sizes makes the expression negative, as far as its signs tell.
bool isNonNegative(mlir::AffineExpr expr);

} // namespace headrace
