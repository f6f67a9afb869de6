// Writes a group of operators as one kernel, as planned.
#pragma once

#include "transform/kernels/KernelBuilder.h"
#include "transform/kernels/KernelPlan.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace headrace {

class KernelWriter : private KernelPlan {
public:
  KernelWriter(mlir::OpBuilder &b, const KernelGroup &group, const Machine &machine,
               KernelForm &form)
      : KernelPlan(group, machine, form), b(b) {}

  llvm::SmallVector<Replacement> build();

private:
  /// The rows a block of a walking group covers.
  struct Rows {
    mlir::Value block, first, count;
  };

  mlir::Value asView(const Access &access);
  mlir::Value packed(const Access &access);
  mlir::Value partOf(mlir::OpBuilder &inner, const Access &access, mlir::Value operand);
  llvm::SmallVector<mlir::OpFoldResult> sizesIn(mlir::OpBuilder &inner, mlir::Location loc,
                                                const Access &access, const Rows *rows);
  mlir::Value emitOperator(mlir::OpBuilder &inner, const OpPlan &plan,
                           llvm::ArrayRef<mlir::Value> operands, const Rows *rows);
  void nameStage(mlir::linalg::GenericOp generic, const OpPlan &plan);
  void placeIndices(mlir::linalg::GenericOp generic, const OpPlan &plan);
  llvm::SmallVector<mlir::Value> valuesRead() const;
  llvm::SmallVector<mlir::Value> collectInputs();
  hr::KernelOp createKernel(llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<mlir::Type> results);
  llvm::DenseMap<mlir::Value, mlir::Value>
  emitOperators(mlir::OpBuilder &inner, llvm::ArrayRef<mlir::Value> parts, const Rows *rows);
  llvm::SmallVector<mlir::Value> emitBlocks(llvm::ArrayRef<mlir::Value> parts,
                                            llvm::ArrayRef<mlir::Type> results);
  Rows rowsOf(mlir::OpBuilder &inner, mlir::Location loc, mlir::Value block);
  mlir::RankedTensorType storedType(const OpPlan &plan) const;
  mlir::Value withBorder(const OpPlan &plan, mlir::Value result);
  mlir::Value combined(const OpPlan &plan, mlir::Value partial);
  bool hasAccumulation() const {
    return llvm::any_of(plans, [](const OpPlan &plan) { return plan.accumulates; });
  }
  void decideBlocks();
  mlir::AffineExpr rowsPerBlock() const;

  mlir::OpBuilder &b;
  llvm::SmallVector<Access> external; // what the kernel reads, an argument each
};

} // namespace headrace
