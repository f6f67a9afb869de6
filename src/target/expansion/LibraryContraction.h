#pragma once

#include "analysis/MatrixProduct.h"
#include "target/expansion/Expansion.h"
#include "target/expansion/ProductShape.h"

namespace headrace {

/// A library's product of matrices; its epilogue is a kernel of its own.
class LibraryContraction : public Expansion {
public:
  void rewrite(mlir::Operation *operation, const Machine &machine,
               mlir::RewriterBase &rewriter) const final;

  /// One call of a library that computes this product, without its first accesses to operands.
  static Work callWork(const ProductShape &shape, DType type);
  /// The product that the first parameters of a call say.
  static ProductShape shapeOfCall(const LibraryCall &call);
  /// Adds what a call instead of the operator moves: its operands once, and its result again for
  /// what follows it, which is a kernel of its own.
  static void addMovement(Work &work, mlir::Operation *op);

protected:
  /// Takes the operands and parameters that runtime/program/Library.h has for "openblas.sgemm".
  virtual llvm::StringRef routine(hr::ContractOp op) const = 0;
  /// Parameters that it takes beyond those.
  virtual llvm::SmallVector<mlir::AffineExpr> furtherParameters(hr::ContractOp) const { return {}; }
};

} // namespace headrace
