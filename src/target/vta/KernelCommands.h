// Schedules of the accelerator's kernels, and their code.
#pragma once

#include "runtime/vta/Configuration.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace::vta {

/// Attribute of a kernel's module: the cycles it takes.
inline constexpr llvm::StringLiteral kCyclesAttr = "vta.cycles";

/// Gives a kernel without a recipe one, writes its code, and says how long that takes.
std::unique_ptr<mlir::Pass> createAttachSchedulePass(const Configuration &configuration);
/// Shows the instructions of a kernel.
std::unique_ptr<mlir::Pass> createWriteCommandsPass(const Configuration &configuration);

/// The code of a scheduled kernel as text (KernelCode.h).
std::string codeOf(mlir::ModuleOp kernel);

} // namespace headrace::vta
