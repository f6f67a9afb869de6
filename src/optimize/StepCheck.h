// Whether a program that a step made computes what the model says.
#pragma once

#include "driver/LevelOneProgram.h"

#include "optimize/Transformation.h"

namespace headrace::optimize {

/// A program with the recipe that it is compiled with; its sizes are those of the recipe.
struct CheckedProgram {
  LevelOneProgram program;
  std::string recipe;
};

/// Compiles the program after a step and compares it on random inputs, kernel by kernel, with the
/// reference evaluation. If that takes too many operations, outputs are compared with those of the
/// program before the step. Throws Error that names the step if any value differs.
void checkStep(const std::string &step, CheckedProgram before, CheckedProgram after,
               const Settings &settings, int64_t operations);

} // namespace headrace::optimize
