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

} // namespace headrace
