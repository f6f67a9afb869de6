// Writes a group of operators as one `hr.kernel`.
#pragma once

#include "analysis/Machine.h"
#include "transform/KernelGroup.h"

namespace headrace {

/// Builds the kernel of `group` at the builder's insertion point and returns the value that
/// replaces the root's result.
///
/// Axes that every value of the group walks together become one; unit dimensions go. Operands and
/// results are reshaped to that form outside the kernel, which moves nothing. The features of
/// constant weights are split into register tiles and the weights packed accordingly, which is
/// done once, at compile time.
mlir::Value buildKernel(mlir::OpBuilder &builder, const KernelGroup &group, const Machine &machine);

} // namespace headrace
