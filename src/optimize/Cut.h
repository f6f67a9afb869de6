// A part of a program at level 1 as a program of its own.
#pragma once

#include "transform/choices/OperatorNames.h"

#include "llvm/ADT/DenseSet.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace headrace::optimize {

struct Cut {
  mlir::OwningOpRef<mlir::ModuleOp> program;
  /// The values at its edges, by the operators that compute them.
  std::vector<std::string> inputs, outputs;
};

/// The operators with the constants that they read. `holderOf` says which operator's result others
/// read instead of an operator's own, such as an image with its padding; null if whoever reads it
/// computes it himself, as views are. Nothing if an operator has no name, or several results.
std::optional<Cut> cutOut(mlir::func::FuncOp entry, const OperatorNames &names,
                          const llvm::DenseSet<mlir::Operation *> &members,
                          llvm::function_ref<mlir::Operation *(mlir::Operation *)> holderOf);

/// The name of a value that is computed in a program or given to it; empty for values of operators
/// without a name.
std::string nameOfValue(mlir::Value value, const OperatorNames &names);

} // namespace headrace::optimize
