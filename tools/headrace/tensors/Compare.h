#pragma once

#include "runtime/tensor/Tensor.h"

#include <cstdint>

namespace headrace::cli {

struct Tolerance {
  double relative = 1e-4;
  double absolute = 1e-5;
};

struct Comparison {
  int64_t elements = 0;
  int64_t mismatches = 0;
  /// The first mismatch's index and values; empty index for scalars.
  Shape firstIndex;
  double firstExpected = 0, firstFound = 0;
  double maxAbsoluteError = 0, maxRelativeError = 0;
};

/// Compares tensors of one shape: |found - expected| <= absolute + relative * |expected|, NaN equal
/// to NaN.
Comparison compare(const Tensor &found, const Tensor &expected, Tolerance tolerance);

} // namespace headrace::cli
