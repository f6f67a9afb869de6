// Whether a kernel's grid can be run in slices along the leading dimension of its result.
#pragma once

#include "transform/recipe/KernelModel.h"

namespace headrace {

/// The value of `hr.slices` (target/Slices.h) for a kernel with these loops; nothing if parts of
/// its grid do not read and write equal parts of its operands.
std::optional<llvm::SmallVector<int64_t>> slicesOfKernel(mlir::func::FuncOp kernel,
                                                         const LoopModel &model);

} // namespace headrace
