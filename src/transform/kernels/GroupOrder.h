// A topological order of groups of operators, kept up to date while groups grow.
//
// Every operation stands in it alone or as part of a group, after all it waits for. Two of them can
// become one unless there is a way from one to the other through a third; that is between the two
// in the order, so only what is there is looked at and moved.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "mlir/IR/Block.h"

namespace headrace {

class GroupOrder {
public:
  /// Every operation of the block alone, in the block's order.
  explicit GroupOrder(mlir::Block &body);

  /// Whether the groups of two operations would wait for themselves as one.
  bool wouldWaitForItself(mlir::Operation *a, mlir::Operation *b) const;
  /// Makes the groups of two operations one.
  void merge(mlir::Operation *a, mlir::Operation *b);
  /// Takes operations out of their groups and puts each of these sets into one; false, with nothing
  /// changed, if that leaves no order.
  bool tryRegroup(llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> sets);

private:
  using Node = unsigned;
  struct Members {
    llvm::SmallVector<mlir::Operation *, 1> operations;
    size_t position = 0;
  };
  llvm::SmallVector<Node> waitingFor(Node node) const;
  llvm::DenseSet<Node> between(Node first, Node last, bool &isReached) const;
  bool sort();

  std::vector<Members> nodes;
  llvm::DenseMap<mlir::Operation *, Node> nodeOf;
  std::vector<Node> sequence;
};

} // namespace headrace
