// Where transformations of each kind may apply to a program. Whether they do is for the compiler to
// say (Optimizer::predict): these are questions to ask.
#pragma once

#include "optimize/Plan.h"

namespace headrace::optimize {

/// Steps for the program, without those that it follows already, in its order.
std::vector<Step> matchesIn(const Plan &plan, const Targets &targets);
/// The schedules by which kernels run their loops as they are written, where there are such.
std::vector<Step> plainSchedules(const Plan &plan, const Targets &targets);
/// Steps on choices that are made before a program with gradients is split.
std::vector<Step> matchesBeforeSplit(const CompleteRecipe &choices);

} // namespace headrace::optimize
