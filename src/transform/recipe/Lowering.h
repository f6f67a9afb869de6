// Carries out a recipe on a kernel: loops, fusion, vectors.
#pragma once

#include "transform/recipe/KernelModel.h"

namespace headrace {

/// Rewrites the kernel into the loops of `model`, which is its own model with a recipe applied;
/// throws `Error` if the kernel's operations do not allow it, and leaves a kernel to be thrown
/// away.
void lowerToLoops(mlir::func::FuncOp kernel, const LoopModel &model);

} // namespace headrace
