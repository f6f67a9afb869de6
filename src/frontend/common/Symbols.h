// The free sizes of a program: their names and the range of values for which it is meant.
#pragma once

#include "dialect/SymbolicShape.h"

#include <limits>
#include <string>
#include <vector>

namespace headrace {

class Symbols {
public:
  explicit Symbols(mlir::MLIRContext *context) : context(context) {}

  /// The size of that name, a new one at first.
  mlir::AffineExpr get(const std::string &name);
  /// Tells what the size is expected to be, about.
  void expect(const std::string &name, int64_t size);
  bool contains(const std::string &name) const { return llvm::is_contained(symbolNames, name); }

  /// Restricts the program to sizes where the expression is not negative; false where that cannot
  /// be said as a range of one size.
  bool requireNonNegative(mlir::AffineExpr expr);

  const std::vector<std::string> &names() const { return symbolNames; }
  llvm::ArrayRef<int64_t> minima() const { return least; }
  llvm::ArrayRef<int64_t> maxima() const { return most; }
  /// The expected value of each, as told or by its name; 0 where nothing is known.
  llvm::ArrayRef<int64_t> expected() const { return expectedSizes; }
  bool hasRanges() const;

  /// For messages, with the user's names: "batch x 3 x 224".
  std::string text(llvm::ArrayRef<mlir::AffineExpr> dims) const;

private:
  mlir::MLIRContext *context;
  std::vector<std::string> symbolNames;
  std::vector<int64_t> least, most, expectedSizes;
};

} // namespace headrace
