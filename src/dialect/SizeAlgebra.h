// Sizes in the compiler are affine expressions, because types and maps are made of those; what is
// known of them is known by DimExpr. So each function here converts, asks, and converts back.
#pragma once

#include "runtime/tensor/DimExpr.h"

#include "mlir/IR/AffineExpr.h"

#include <optional>

namespace headrace {

/// Throws Error if numbers overflow or the expression gets too large.
DimExpr toDimExpr(mlir::AffineExpr expr);
/// Written over these symbols. A maximum or minimum has no such form, and is an error of ours.
mlir::AffineExpr toAffineExpr(const DimExpr &size, mlir::MLIRContext *context,
                              llvm::function_ref<mlir::AffineExpr(unsigned)> symbol);
mlir::AffineExpr toAffineExpr(const DimExpr &size, mlir::MLIRContext *context);

/// One form for all ways to write a size: equal ones become equal expressions. What overflows or
/// gets too large stays as it is.
mlir::AffineExpr normalized(mlir::AffineExpr expr);

/// Whether the two are the same size for every value of the symbols, as far as algebra tells.
bool sameSize(mlir::AffineExpr a, mlir::AffineExpr b);

/// a / b if the division leaves no remainder for any values of the symbols; nullopt if that
/// is not known.
std::optional<mlir::AffineExpr> exactQuotient(mlir::AffineExpr a, mlir::AffineExpr b);

/// Whether no value of the dynamic dimensions makes the expression negative, as far as its signs
/// tell.
bool isNonNegative(mlir::AffineExpr expr);

/// The bound of one symbol that holds exactly if the expression is not negative; nullopt if
/// it is not one.
std::optional<DimExpr::Bound> boundOfNonNegative(mlir::AffineExpr expr);

/// Whether an expression is small enough for MLIR to compute with, which checks no overflow and
/// bounds no growth. Asked of it as it is written: its normal form may hide large numbers.
bool isManageable(mlir::AffineExpr expr, int64_t maxAbsolute);

} // namespace headrace
