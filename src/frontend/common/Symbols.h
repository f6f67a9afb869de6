// The dynamic dimensions of a program: their names and the range of values for which it is meant.
#pragma once

#include "dialect/SymbolicShape.h"
#include "runtime/tensor/SizeRange.h"

#include <set>
#include <string>
#include <vector>

namespace headrace {

class Symbols {
public:
  /// For a program that is meant for `given` sizes alone. If that is one value of a size, it is
  /// that number and not free.
  explicit Symbols(mlir::MLIRContext *context, SizeRanges given = {})
      : context(context), given(std::move(given)) {}

  /// The size of that name, a new one at first.
  mlir::AffineExpr get(const std::string &name);
  /// Tells what the size is expected to be, about.
  void expect(const std::string &name, int64_t size);
  bool contains(const std::string &name) const {
    return llvm::is_contained(symbolNames, name) || numbers.contains(name);
  }

  /// Restricts the program to sizes if the expression is not negative; false, and nothing
  /// changes, if that cannot be said as a range of one size, or no size is left.
  bool requireNonNegative(mlir::AffineExpr expr);
  /// Whether the expression is negative for all sizes that the program is meant for.
  bool isNegative(mlir::AffineExpr expr) const;
  /// Whether the expression is not negative. If sizes differ in that, the program is restricted
  /// to those for which it is not, unless these are 0 and 1 at most; nullopt if no range of one
  /// size tells them apart.
  std::optional<bool> decideNonNegative(mlir::AffineExpr expr);

  const std::vector<std::string> &names() const { return symbolNames; }
  llvm::ArrayRef<int64_t> minima() const { return least; }
  llvm::ArrayRef<int64_t> maxima() const { return most; }
  /// The expected value of each, as told or by its name; 0 if nothing is known.
  llvm::ArrayRef<int64_t> expected() const { return expectedSizes; }
  bool hasRanges() const;

  /// For messages, with the user's names: "batch x 3 x 224".
  std::string text(llvm::ArrayRef<mlir::AffineExpr> dims) const;

private:
  mlir::MLIRContext *context;
  SizeRanges given;
  std::set<std::string> numbers; // that stand for names
  std::vector<std::string> symbolNames;
  std::vector<int64_t> least, most, expectedSizes;
};

} // namespace headrace
