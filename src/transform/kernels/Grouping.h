// The operators of a program in groups, each of which becomes a kernel. The graph of groups stays
// acyclic: no two ever wait for each other.
#pragma once

#include "transform/kernels/GroupAssembly.h"
#include "transform/kernels/GroupOrder.h"

#include "llvm/ADT/SetVector.h"

namespace headrace {

class Grouping {
public:
  Grouping(mlir::Block &body, const KernelRules &rules) : body(body), rules(rules), order(body) {}

  /// Adds a group; its number. Groups that begin later in the program have lower numbers.
  size_t start(KernelGroup group);
  /// Puts a producer into a group that reads its result, if the group accepts it.
  FusionDecision tryJoin(hr::OperatorInterface op, size_t group);
  /// Puts the operators of two groups into the first.
  FusionDecision tryMerge(size_t group, size_t other);
  /// The same, with the group as a recipe that names its operators gives it.
  FusionDecision tryAssemble(size_t group, size_t other);
  /// Puts the operators of all these groups into the first of the program's order that is among
  /// them, in whatever way one kernel can hold them: whether that pays is not asked.
  FusionDecision tryUnite(llvm::ArrayRef<size_t> united);
  /// These groups, and those that wait for one of them while another waits for them.
  llvm::SmallVector<size_t> withThoseBetween(llvm::ArrayRef<size_t> some) const;
  /// Lets the group that computes what is padded write the padding, if it can.
  FusionDecision tryBorder(hr::PadOp pad);
  /// Puts an operator into a group without asking.
  void join(hr::OperatorInterface op, size_t group);
  /// Groups all operators of some groups anew, unless groups would wait for each other.
  bool tryReplace(llvm::SmallVector<KernelGroup> groups);

  size_t size() const { return groups.size(); }
  const KernelGroup &operator[](size_t group) const { return groups[group]; }
  /// Whether the group has not been merged into another or replaced.
  bool isAlive(size_t group) const { return groupOf.lookup(groups[group].root()) == group; }
  std::optional<size_t> find(mlir::Operation *op) const;
  /// Groups that read the operator's result.
  llvm::SmallSetVector<size_t, 4> readersOf(mlir::Operation *op) const;
  /// Groups that read or compute what this one reads, and those that read what it computes. A value
  /// that very many read (one weight throughout a network) suggests a few of them, not every pair.
  llvm::SmallSetVector<size_t, 8> neighbours(size_t group) const;

  /// Every group after those it reads from.
  llvm::SmallVector<KernelGroup> inOrder() const;

private:
  void takeOver(size_t group, size_t other, KernelGroup both);

  mlir::Block &body;
  const KernelRules &rules;
  llvm::SmallVector<KernelGroup> groups;
  llvm::DenseMap<mlir::Operation *, size_t> groupOf;
  GroupOrder order;
};

} // namespace headrace
