// Exponentials of many floats at the speed of vectors, for library routines.
#pragma once

#include <cstdint>

namespace headrace {

/// The largest of `count` numbers, ignoring NaN; -inf if there are none.
float greatestOf(const float *numbers, int64_t count);

/// Puts exp(number - reference) instead of each number, for numbers up to `reference`, and returns
/// the sum. NaN stays; results below the smallest normal float are 0. Within 2 units in the last
/// place.
float exponentials(float *numbers, int64_t count, float reference);

} // namespace headrace
