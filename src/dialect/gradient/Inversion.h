// The inverse of an access: which points of a domain read the element at a position.
//
//   x[2*i + k, j] over (i, k, j), seen from x[p, q]: j = q, and for every k, i = (p - k) / 2 if
//   that is a position of the domain.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/IR/Builders.h"

namespace headrace::gradient {

class Inversion {
public:
  /// `map` picks an element of an input of that shape at every point of the domain.
  Inversion(llvm::ArrayRef<mlir::AffineExpr> domain, mlir::AffineMap map,
            const SymbolicShape &shape);

  /// The inverted domain: the input's dimensions, then those of the domain that are walked.
  llvm::ArrayRef<mlir::AffineExpr> getSizes() const { return sizes; }
  int64_t walkedDims() const { return static_cast<int64_t>(walked.size()); }

  /// Another access along the inverted domain; null if it is not affine or may leave its
  /// operand.
  mlir::AffineMap inverted(mlir::AffineMap operand) const;

  /// Writes, in the body of a compute over the inverted domain, the position along every dimension
  /// of the domain; `valid` says whether there is such a point, and is null if there always is.
  llvm::SmallVector<mlir::Value> write(mlir::OpBuilder &b, mlir::Location loc,
                                       mlir::Value &valid) const;

private:
  struct Equation {
    unsigned dim;   // of the input: p
    int64_t factor; // p = factor * position + rest
    mlir::AffineExpr rest;
  };

  std::optional<int64_t> factorOf(mlir::AffineExpr expr, unsigned dim) const;
  std::optional<unsigned> unknownIn(mlir::AffineExpr expr) const;
  void solve(unsigned input, unsigned dim);

  llvm::SmallVector<mlir::AffineExpr> domain;
  mlir::AffineMap map;
  SymbolicShape shape;
  llvm::SmallVector<std::optional<Equation>> equations; // per dimension of the domain
  llvm::SmallVector<mlir::AffineExpr> known; // if a position is one along the inverted domain
  /// Dimensions of the domain: those solved for, in order; those that equations need; those walked.
  llvm::SmallVector<unsigned> solved, needed, walked;
  llvm::SmallVector<unsigned> conditions; // dimensions of the input that nothing is solved for
  llvm::SmallVector<mlir::AffineExpr> sizes;
};

} // namespace headrace::gradient
