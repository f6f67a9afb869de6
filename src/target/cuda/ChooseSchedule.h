// Which operations of a kernel are launched, and how.
#pragma once

#include "target/cuda/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace::cuda {

/// Gives every operation of the kernel that is to be launched its record. `hasWarpgroups`: the
/// device multiplies by warp groups and copies tiles by itself (sm_90a).
void chooseSchedules(mlir::func::FuncOp kernel, bool hasWarpgroups);

} // namespace headrace::cuda
