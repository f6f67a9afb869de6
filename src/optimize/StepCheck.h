// Whether a program that a step made computes what the model says.
#pragma once

#include "optimize/Optimizer.h"

namespace headrace::optimize {

/// Compiles the model with the recipe after the step and compares it on random inputs, kernel by
/// kernel, with the reference evaluation. If that takes too many operations, outputs are compared with
/// those of the program before the step. Throws Error that names the step if any value differs.
void checkStep(const Model &model, const Settings &settings, const Sizes &sizes,
               const Transformation &done, const std::string &recipeBefore);

} // namespace headrace::optimize
