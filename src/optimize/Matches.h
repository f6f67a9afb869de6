// Where transformations of each kind may apply to a program. Whether they do is for the compiler to
// say (Optimizer::predict): these are questions to ask.
#pragma once

#include "optimize/Plan.h"

namespace headrace::optimize {

/// Steps for the program, without those that it follows already, in its order.
std::vector<Step> matchesIn(const Plan &plan, const Targets &targets);

} // namespace headrace::optimize
