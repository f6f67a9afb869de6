// Where a stage is computed: its iteration dimensions, indices as linear functions of them, and
// what is known of their ranges.
#pragma once

#include "frontend/common/Symbols.h"
#include "frontend/expr/Stage.h"

#include <map>

namespace headrace::expr {

/// Sizes of the user's as expressions over the program's symbols.
class SizeTable {
public:
  explicit SizeTable(Symbols &symbols, mlir::MLIRContext *context)
      : symbols(symbols), context(context) {}

  /// The expression; nullopt if it is made of anything but numbers and sizes.
  std::optional<mlir::AffineExpr> tryConvert(const Expr &size);
  /// The same, of an expression that is a size.
  mlir::AffineExpr convert(const Expr &size);

private:
  std::optional<DimExpr> valueOf(const Expr &size);

  Symbols &symbols;
  mlir::MLIRContext *context;
  std::map<std::string, const SizeInfo *> known;
};

/// Sum of coefficient * dimension, plus an offset over the symbols.
struct LinearIndex {
  llvm::SmallVector<int64_t> coefficients;
  mlir::AffineExpr offset;

  LinearIndex plus(const LinearIndex &other, int64_t scale = 1) const;
  bool isConstant() const;
};

struct Range {
  mlir::AffineExpr low, high;
};

/// The dimensions of a stage: those of its result, then those it reduces.
class Domain {
public:
  Domain(llvm::ArrayRef<Axis> axes, size_t reduced, SizeTable &sizeTable, const Symbols &symbols,
         mlir::MLIRContext *context);

  size_t rank() const { return axes.size(); }
  size_t reduced() const { return reducedCount; }
  std::optional<unsigned> find(const AxisInfo *axis) const;
  llvm::ArrayRef<mlir::AffineExpr> getSizes() const { return sizes; }
  /// The first position along the axis.
  mlir::AffineExpr getLow(unsigned dim) const { return lows[dim]; }
  llvm::SmallVector<std::string> axisNames() const;
  mlir::MLIRContext *getContext() const { return context; }

  /// The index as a linear function of the dimensions; nullopt if it is not linear.
  std::optional<LinearIndex> linear(const Expr &index) const;
  /// The least and greatest value over the domain.
  Range range(const LinearIndex &index) const;
  /// Whether the index is in 0 to size - 1 all over the domain; nullopt if it depends on data
  /// or is not understood.
  std::optional<bool> staysInside(const Expr &index, mlir::AffineExpr size) const;

  /// Whether the expression is 0 or more for all sizes the program is meant for; if a point is
  /// asked for, only sizes for which the domain has one count.
  bool isNonNegative(mlir::AffineExpr expr, bool hasPoint) const;

private:
  llvm::SmallVector<Axis> axes;
  size_t reducedCount;
  SizeTable &sizeTable;
  const Symbols &symbols;
  mlir::MLIRContext *context;
  llvm::SmallVector<mlir::AffineExpr> sizes, lows;
};

} // namespace headrace::expr
