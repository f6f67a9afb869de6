// The meaning of one operator of level 1 as a term of tensors.
#pragma once

#include "dialect/Hr.h"
#include "rewrite/accelerator/TermBuilder.h"

#include "mlir/IR/AffineExpr.h"

namespace headrace::coarse {

/// The leading dimension that all of a program's values share, if it is dynamic or 1: terms are
/// those of one of its elements. Constants do not have it.
class BatchAxis {
public:
  BatchAxis() = default;
  /// That of the entry's inputs.
  static BatchAxis of(mlir::func::FuncOp entry);

  /// Null if there is none.
  mlir::AffineExpr size() const { return expr; }
  bool isOpen() const;
  bool leads(mlir::Value value) const;
  /// The shape without it. Throws Error at any other dynamic dimension, and if there are no
  /// elements.
  rewrite::Shape inner(mlir::Value value) const;

private:
  mlir::AffineExpr expr;
};

/// Where the operands of a term come from.
class OperandTerms {
public:
  virtual ~OperandTerms() = default;
  /// The term of a value, of its inner shape.
  virtual rewrite::ShapedTerm of(mlir::Value value) = 0;
  /// For whoever broadcasts it: dimensions of 1 may be left out.
  virtual rewrite::ShapedTerm compact(mlir::Value value) = 0;
  /// A number.
  virtual rewrite::ShapedTerm scalar(double value) = 0;
};

/// The result of the operator, of its inner shape. Throws Error with the reason if the operator
/// has no such form.
rewrite::ShapedTerm termOf(mlir::Operation *op, rewrite::TermBuilder &builder,
                           OperandTerms &operands, const BatchAxis &batch);

/// The cases of `termOf`, one file each.
rewrite::ShapedTerm mapTerm(hr::MapOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                            const BatchAxis &batch);
rewrite::ShapedTerm contractTerm(hr::ContractOp op, rewrite::TermBuilder &builder,
                                 OperandTerms &operands, const BatchAxis &batch);
rewrite::ShapedTerm convTerm(hr::ConvOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                             const BatchAxis &batch);
rewrite::ShapedTerm poolTerm(hr::PoolOp op, rewrite::TermBuilder &builder, OperandTerms &operands,
                             const BatchAxis &batch);

/// Throws the reason why there is no term.
[[noreturn]] void refuse(const llvm::Twine &reason);

} // namespace headrace::coarse
