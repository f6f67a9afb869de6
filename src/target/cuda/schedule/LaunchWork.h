// The work of a device's kernel under its launches.
#pragma once

#include "analysis/cost/Work.h"
#include "target/cuda/schedule/LegalSchedule.h"

#include "mlir/IR/BuiltinOps.h"

#include <optional>

namespace headrace::cuda {

/// Kernels read and write once what they need; all multiprocessors share them, as far as the
/// launches fill them. Products have the speed of the kind that their launch says, and of the type
/// of their operands; `operations` are those of all operators.
Work launchWork(mlir::ModuleOp kernel, double operations, const DeviceTraits &device);

/// The work if the one operation that can be launched so were; nothing if none can, or several.
std::optional<Work> launchWorkUnder(mlir::ModuleOp kernel, const ScheduleRecord &schedule,
                                    double operations, const DeviceTraits &device);

} // namespace headrace::cuda
