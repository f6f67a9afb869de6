// Predicted times of groups of operators as kernels, by the machine's cost model. Plans of kernels
// are compared by them.
#pragma once

#include "analysis/Machine.h"
#include "analysis/OperatorWork.h"
#include "transform/kernels/KernelGroup.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

class GroupCost {
public:
  GroupCost(mlir::func::FuncOp program, const KernelRules &rules, const Machine &machine);

  /// Microseconds of the group as a kernel.
  double of(const KernelGroup &group);
  /// Microseconds of the operators as one kernel, even if they cannot share loops.
  double ofSharingAll(llvm::ArrayRef<hr::OperatorInterface> operators);

  /// Whether its loops find elements by numbers that they read, and so compute one at a time.
  bool readsByIndex(const KernelGroup &group);

  /// Whether reading shared values once saves a good part of what the smaller kernel moves.
  bool isMergeWorthwhile(const KernelGroup &a, const KernelGroup &b);

private:
  Work workOf(llvm::ArrayRef<hr::OperatorInterface> operators,
              llvm::function_ref<bool(mlir::Operation *)> isInside);
  Work::Arithmetic productIn(const KernelGroup &group, hr::ContractOp op,
                             Work::Arithmetic product) const;
  double rowsOfTile() const;
  void followInTiles(const KernelGroup &group, Work &work);
  double trafficOf(const KernelGroup &group);
  double bytesOf(mlir::Value value);
  const Work &alone(hr::OperatorInterface op);

  const Machine &machine;
  const SizeHints &sizes;
  double programBytes = 0;
  llvm::DenseMap<mlir::Value, double> bytes;
  llvm::DenseMap<mlir::Operation *, Work> works;
};

} // namespace headrace
