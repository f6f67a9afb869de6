// Which operations of a kernel are launched, and how.
#pragma once

#include "target/cuda/Schedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace headrace::cuda {

/// Gives every operation of the kernel that is to be launched its record.
void chooseSchedules(mlir::func::FuncOp kernel, int64_t capability);

} // namespace headrace::cuda
