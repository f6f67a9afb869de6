// The function of a kernel's module.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// Null if an accelerator computes the kernel from an attribute of its own.
inline mlir::func::FuncOp kernelFunction(mlir::ModuleOp kernel) {
  auto functions = kernel.getOps<mlir::func::FuncOp>();
  return functions.empty() ? mlir::func::FuncOp() : *functions.begin();
}

} // namespace headrace
