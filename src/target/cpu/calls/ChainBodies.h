// A chain of maps behind sums, read as one scalar expression.
#pragma once

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

namespace headrace {

/// The bodies of the maps behind the sums as one: a body's argument is what the map before yields.
/// Bytes are computed by those of `chain` only; others are read.
class ChainBodies {
public:
  ChainBodies(mlir::Value sums, llvm::ArrayRef<hr::MapOp> chain) : sums(sums), chain(chain) {}

  /// The operation or operand that gives the value.
  mlir::Value sourceOf(mlir::Value value) const;
  template <class Op> Op opOf(mlir::Value value) const {
    return sourceOf(value).getDefiningOp<Op>();
  }

  /// The tensor whose element the value is; null for what is computed.
  mlir::Value operandOf(mlir::Value value) const {
    auto argument = llvm::dyn_cast<mlir::BlockArgument>(sourceOf(value));
    return argument ? tensorOf(argument) : mlir::Value();
  }
  bool isSums(mlir::Value value) const { return operandOf(value) == sums; }

  /// The value as a constant, of all columns or of each; integers and floats as they are.
  std::optional<llvm::SmallVector<double>> constantOf(mlir::Value value) const;
  std::optional<double> numberOf(mlir::Value value) const {
    auto numbers = constantOf(value);
    return numbers && numbers->size() == 1 ? std::optional(numbers->front()) : std::nullopt;
  }

  bool hasShapeOfSums(mlir::Value tensor) const {
    return llvm::equal(shapeOf(tensor), shapeOf(sums));
  }
  int64_t columns() const {
    return llvm::cast<mlir::RankedTensorType>(sums.getType()).getShape().back();
  }

  mlir::Value sums;

private:
  static mlir::Value tensorOf(mlir::BlockArgument argument) {
    auto map = llvm::cast<hr::MapOp>(argument.getOwner()->getParentOp());
    return map.getInputs()[argument.getArgNumber()];
  }

  llvm::ArrayRef<hr::MapOp> chain;
};

} // namespace headrace
