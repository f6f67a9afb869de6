// Tensor expressions as a program of level 1.
#pragma once

#include "frontend/expr/Stage.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace headrace::expr {

/// A program that computes `outputs`, all of which are computed stages. Its inputs are the
/// placeholders they depend on, in order of making. Throws Error.
mlir::OwningOpRef<mlir::ModuleOp> importExpression(const std::vector<Stage> &outputs,
                                                   mlir::MLIRContext &context,
                                                   const std::string &name);

} // namespace headrace::expr
