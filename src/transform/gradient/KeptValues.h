// Which values of the forward program are kept for the backward one, and which are computed again
// (rematerialization).
#pragma once

#include "analysis/Machine.h"
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace {

/// The forward part of a differentiated program: values that do not depend on gradients of results,
/// with the cost of keeping each and of recomputing it (rematerialization).
struct GradientGraph {
  /// One value of the forward part; constants are not listed, they are there in both directions.
  struct Node {
    mlir::Value value;
    /// Positions of the operands of its operator in the list.
    llvm::SmallVector<int> operands;
    int64_t bytes = 0;
    /// Costs in picoseconds: to have it in memory for the backward program, and to compute it again
    /// there.
    int64_t keeping = 0, computing = 0;
    /// An input or an output: in memory whether the backward program needs it or not.
    bool free = false;
    bool neededBackward = false;
    /// Whether a recipe says that it is kept, or computed again.
    std::optional<bool> given;
  };
  std::vector<Node> nodes; // in program order

  static GradientGraph of(mlir::func::FuncOp joint, unsigned inputs, unsigned outputs,
                          const Machine &machine);
  /// The values that depend on the arguments from number `inputs` on.
  static llvm::DenseSet<mlir::Value> dependsOnSeeds(mlir::func::FuncOp joint, unsigned inputs);
};

/// The values to keep, in program order: with the least cost, or the least cost of those that keep
/// at most `budget` bytes besides inputs and outputs.
llvm::SmallVector<mlir::Value> chooseKeptValues(const GradientGraph &graph,
                                                std::optional<int64_t> budget);

} // namespace headrace
