// Schedules that tuning found, on the way into a program: between the phases `layout` and `kernels`
// they become part of its recipe, because the columns of a tile are also those that weights are
// packed by.
#pragma once

#include "driver/Settings.h"
#include "target/Placement.h"
#include "transform/choices/ProgramRecipe.h"

#include <functional>
#include <string>

namespace headrace {

/// On a kernel's module: its schedule is a result of tuning.
inline constexpr llvm::StringLiteral kTunedAttr = "hr.tuned";

/// The machine that results of tuning for this target hold for: the CPU or device, and what code
/// for it needs.
std::string machineOfResults(const Target &target);

/// Whether there are any results of tuning that the settings allow.
bool hasResults(const Settings &settings);

/// The kernels of a program at the phase `layout` with the schedules that tuning found for them, as
/// lines of a recipe. `schedule` runs the phases up to `schedule` on a copy of the program. Empty
/// if no result fits; one that is not legal here is left out, and a line says so.
std::vector<ProgramRecipe::Kernel> tunedKernels(mlir::ModuleOp laidOut, const Settings &settings,
                                                const Targets &targets,
                                                llvm::function_ref<void(mlir::ModuleOp)> schedule);

/// Adds these kernels to what a program at the phase `layout` still has to follow of its recipe.
void addKernels(mlir::ModuleOp program, ProgramRecipe recipe,
                llvm::ArrayRef<ProgramRecipe::Kernel> kernels);

/// In a scheduled program: notes on the kernels that their schedules were tuned.
void noteTuned(mlir::ModuleOp scheduled, llvm::ArrayRef<ProgramRecipe::Kernel> kernels);

/// A line on a result of tuning that is not used, once for each process.
void warnOfTuning(const std::string &line);

} // namespace headrace
