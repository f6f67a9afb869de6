// Which operators could ever share a kernel, whatever else it holds: the cuts between the parts of
// a program that kernels are planned for one by one.
#pragma once

#include "transform/kernels/GroupCost.h"

namespace headrace {

class KernelLinks {
public:
  KernelLinks(mlir::Block &body, const KernelRules &rules, GroupCost &cost);

  /// Whether a kernel could hold a producer and what reads its result.
  bool mayJoin(hr::OperatorInterface producer, hr::OperatorInterface reader) const;
  /// Whether a kernel could hold two operators for what they both read, and whether that saves a
  /// good part of what the smaller one moves.
  bool mayMerge(hr::OperatorInterface a, hr::OperatorInterface b) const;

private:
  bool canWalk(hr::OperatorInterface op) const { return walking.contains(op); }

  const KernelRules &rules;
  GroupCost &cost;
  llvm::DenseSet<mlir::Operation *> walking;
};

} // namespace headrace
