// The operators of a program before kernels are formed, and the kernels that they end in.
#pragma once

#include "transform/choices/OperatorNames.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include "optimize/Plan.h"

namespace headrace::optimize {

/// By name.
struct Operators {
  explicit Operators(const Planner::Checkpoint &checkpoint);

  /// `relu/map` for `relu/map.2`.
  llvm::StringRef unnumbered(mlir::Operation *op) const;

  mlir::func::FuncOp entry;
  OperatorNames names;
  std::vector<std::string> followed; // steps of the recipe
  llvm::StringMap<mlir::Operation *> ops;
  /// Those that differ by a number alone, by their name without it.
  llvm::StringMap<llvm::SmallVector<mlir::Operation *>> numbered;
  std::vector<mlir::Operation *> inOrder;
};

/// Whether both compute the same, from values of the same names.
bool areEqual(mlir::Operation *a, const OperatorNames &ofA, mlir::Operation *b,
              const OperatorNames &ofB);

/// Which kernel each operator is in; operators that are views are in none.
class KernelsOfOperators {
public:
  explicit KernelsOfOperators(const ProgramRecipe &recipe);

  /// Empty if it is in none.
  llvm::StringRef of(llvm::StringRef op) const;
  /// The kernel of the operator, or the one around which it was made: that of `x` for a second
  /// kernel `x/combine`.
  std::string around(llvm::StringRef step) const;

private:
  llvm::StringMap<std::string> kernels;
};

} // namespace headrace::optimize
