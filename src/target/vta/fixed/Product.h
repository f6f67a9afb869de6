// Products of stored integers with constant weights: the chains that begin with one.
#pragma once

#include "target/vta/fixed/Chain.h"

namespace headrace::vta {

/// `exponents` are those of the weights, `accumulator` is the type that the program sums in.
/// Padding is the number 0, or what is 0 in DRAM. Throws Unsupported.
Chain productOf(Chain input, Convolution convolution, const std::vector<int> &exponents,
                mlir::Type accumulator, bool padsWithZero);

} // namespace headrace::vta
