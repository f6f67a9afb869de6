// Legality of kernels: which operators may share one, with facts about operators that planning asks
// for again and again.
#pragma once

#include "analysis/OperatorWork.h"
#include "dialect/Hr.h"
#include "dialect/Movement.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

class KernelRules {
public:
  enum class Loops {
    Shared, // operators share loops; what combines many rows walks them, so that all threads work
    Whole,  // the same, as one loop nest in any case: kernels never walk
  };

  KernelRules(mlir::func::FuncOp program, Loops loops);

  const Loops loops;
  /// The sizes that costs are estimated with.
  const SizeHints sizes;

  const Movement &movementOf(hr::OperatorInterface op) const { return factsOf(op).movement; }
  /// Whether loops over the operator's domain compute it: it is structured, and there is a point to
  /// compute.
  bool isRegular(hr::OperatorInterface op) const { return factsOf(op).regular; }
  /// Whether the operator computes a value for each row: a reduction, or element-wise work of the
  /// same shape on the result of one.
  bool isPerRow(mlir::Operation *op) const;

private:
  struct Facts {
    Movement movement;
    bool regular = false;
  };
  const Facts &factsOf(hr::OperatorInterface op) const;

  mlir::Block &body;
  mutable std::optional<llvm::DenseSet<mlir::Operation *>> rowWork;
  mutable llvm::DenseMap<mlir::Operation *, std::unique_ptr<Facts>> facts;
};

/// Whether the operator's domain has no point: its result is empty, or what a reduction starts
/// from.
bool doesNothing(hr::OperatorInterface op);

} // namespace headrace
