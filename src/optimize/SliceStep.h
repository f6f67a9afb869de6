// A step that says in how many slices a kernel runs changes no kernel: what it makes of a program
// is found by the one pass that slices, on launches of kernels without contents.
#pragma once

#include "optimize/Plan.h"

namespace headrace::optimize {

/// The recipe of the program with the step, and why the step was not followed.
Plan withSlices(const Plan &now, const ProgramStep &step, const Targets &targets);

} // namespace headrace::optimize
