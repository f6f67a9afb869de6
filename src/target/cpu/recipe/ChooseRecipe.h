// The CPU's default recipe of a kernel, from its shape and the machine.
#pragma once

#include "analysis/Machine.h"
#include "transform/recipe/KernelModel.h"

namespace headrace {

/// The same steps a user may write, and legal for the kernel.
Recipe chooseCpuRecipe(mlir::func::FuncOp kernel, const Machine &machine);

} // namespace headrace
