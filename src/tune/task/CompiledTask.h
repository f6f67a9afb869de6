// The kernels of a model as tasks of tuning, by the phases of the compiler.
#pragma once

#include "driver/Model.h"

#include "tune/task/KernelTask.h"

namespace headrace::tune {

/// The kernels of the model at these sizes, as the compiler plans them without results of tuning.
/// Throws Error for a package, or a model that is split into several programs.
ModelTasks tasksOf(const Model &model, const Settings &settings,
                   const std::vector<std::optional<int64_t>> &sizes);

} // namespace headrace::tune
