// A program under a recipe with one step more: which schedules are lost with it, and whether the
// compiler did what the step asks for.
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"

#include "optimize/Plan.h"

namespace headrace::optimize {

/// Plans a program, or a part of one, under a recipe.
using PlanMaker = llvm::function_ref<Plan(const std::string &recipe)>;

/// The program under a recipe that may leave choices open, or have schedules that kernels cannot
/// have any more: such kernels get the compiler's own.
Plan planFrozen(PlanMaker plan, const CompleteRecipe &recipe);

/// The program with the step. Schedules of kernels that it makes others are not theirs any more.
Plan followed(PlanMaker plan, const Plan &now, const Step &step);

/// Why the plan does not have what the step asks for; empty if it has.
std::string reasonAgainst(const Step &step, const Plan &plan);

/// Kernels that both programs have, with other contents.
std::vector<std::string> changedKernels(mlir::ModuleOp before, mlir::ModuleOp after);

} // namespace headrace::optimize
