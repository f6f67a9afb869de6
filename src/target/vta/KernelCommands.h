// Schedules of the accelerator's kernels, and their code.
#pragma once

#include "runtime/vta/KernelCode.h"
#include "target/vta/schedule/Schedule.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace::vta {

/// Attribute of a kernel's module: the cycles it takes.
inline constexpr llvm::StringLiteral kCyclesAttr = "vta.cycles";

/// Gives a kernel without a recipe one, and says what it takes.
std::unique_ptr<mlir::Pass> createAttachSchedulePass(const Configuration &configuration);
/// Shows the instructions of a kernel.
std::unique_ptr<mlir::Pass> createWriteCommandsPass(const Configuration &configuration);

Schedule scheduleOf(mlir::ModuleOp kernel);
KernelCode codeOf(mlir::ModuleOp kernel, const Configuration &configuration);

} // namespace headrace::vta
