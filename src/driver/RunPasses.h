// Passes over a program of a model, with errors in the user's words.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"

#include <string>

namespace headrace {

/// Throws Error if an operator is rejected, InternalError if a pass fails; `stage` names the part
/// of the compiler for the message.
void runPasses(mlir::PassManager &manager, mlir::ModuleOp program, const std::string &modelName,
               const std::string &stage);

/// The entry function of a program.
mlir::func::FuncOp entryFunction(mlir::ModuleOp program);

/// The program, or an operation of it, as text, without large constants.
std::string printed(mlir::Operation *op);

/// A text on a kernel's module; empty if it has none.
std::string textAttribute(mlir::ModuleOp module, llvm::StringRef name);

} // namespace headrace
