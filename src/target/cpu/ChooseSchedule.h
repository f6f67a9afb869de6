// The CPU's default schedule of a kernel, from its shape and the machine.
#pragma once

#include "analysis/Machine.h"
#include "transform/Schedule.h"

namespace headrace {

Schedule chooseCpuSchedule(mlir::func::FuncOp kernel, const Machine &machine);

} // namespace headrace
