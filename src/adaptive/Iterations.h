// How often bodies of loops may run in one call of a split model: far more than any model's take,
// and still an end.
#pragma once

#include <cstdint>

namespace headrace::adaptive {

/// `wanted`, or if that is 0 HEADRACE_MAX_ITERATIONS, or 10^8. Throws Error if the variable is not
/// an integer of 1 or more.
int64_t maxIterations(int64_t wanted = 0);

} // namespace headrace::adaptive
