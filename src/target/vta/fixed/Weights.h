// Constant weights as integers of 8 bits times powers of two.
#pragma once

#include "target/vta/fixed/Chain.h"

namespace headrace::vta {

struct Weights {
  Tensor integers;            // I8, the first dimension is that of the results' channels
  std::vector<int> exponents; // one, or one for each channel of results
};

/// Of floats, or of numbers of the program's type of integers, which have no scale. Throws Refusal.
Weights weightsOf(const Tensor &tensor, bool isInteger);

} // namespace headrace::vta
