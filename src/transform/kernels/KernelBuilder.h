// Writes a group of operators as one `hr.kernel`.
#pragma once

#include "analysis/Machine.h"
#include "transform/kernels/KernelGroup.h"
#include "transform/kernels/KernelPlan.h"

namespace headrace {

/// An operator and the value that replaces its result.
using Replacement = std::pair<mlir::Operation *, mlir::Value>;

/// Builds the kernel of `group` at the builder's insertion point and returns what replaces the
/// results that others read. A reduction of a walking group over all rows leaves a partial result
/// per block; a second, small kernel combines those.
///
/// Axes that every value of the group walks together become one; unit dimensions go. Operands and
/// results are reshaped to that form outside the kernel, which moves nothing. The features of
/// constant weights are split into register tiles and the weights packed accordingly, which is
/// done once, at compile time. `form` says how, as far as the recipe does, and what was chosen.
llvm::SmallVector<Replacement> buildKernel(mlir::OpBuilder &builder, const KernelGroup &group,
                                           const Machine &machine, KernelForm &form);

} // namespace headrace
