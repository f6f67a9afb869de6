// Types, constants and roles that operators' definitions derive from their operands.
#pragma once

#include "dialect/Hr.h"

#include "mlir/IR/Builders.h"

namespace headrace::hr {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

inline bool allPositive(llvm::ArrayRef<int64_t> values) {
  return llvm::all_of(values, [](int64_t value) { return value > 0; });
}

/// A constant of the scalar's type.
inline mlir::Value constantLike(mlir::OpBuilder &b, mlir::Location loc, mlir::Value scalar,
                                double value) {
  return b.create<mlir::arith::ConstantOp>(loc, b.getFloatAttr(scalar.getType(), value));
}

/// The tensor in another element type.
mlir::Value castTo(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor, mlir::Type element);

/// The result of `build` on unsigned integers given as signed ones in the same order, as unsigned
/// ones again: for operators that compare.
mlir::Value asSigned(mlir::OpBuilder &b, mlir::Location loc, mlir::Value tensor,
                     llvm::function_ref<mlir::Value(mlir::Value)> build);

/// The role of an operator that works in either layout: what it reads or yields must be an image.
LayoutRole inEitherLayout(mlir::Operation *op);
/// The role of an operator that is better channels last, if it is not so already.
LayoutRole wantsChannelsLast(mlir::Operation *op, ChannelLayout layout);

} // namespace headrace::hr
