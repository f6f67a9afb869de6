// How large sums of products of 8-bit integers can become: they wrap at 32 bits, which the floats
// that they stand for do not.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <limits>

namespace headrace::onnx {

/// The largest magnitude of a sum of products of any bytes of a type, less their zero point (null:
/// 0), with constant weights less theirs. The features of the weights are their first dimension or
/// their last; a zero point may be one for each.
int64_t largestSum(DType left, const Tensor *leftZero, const Tensor &weight,
                   const Tensor *weightZero, bool isFeatureFirst);

inline bool fitsSums(int64_t magnitude) { return magnitude <= std::numeric_limits<int32_t>::max(); }

} // namespace headrace::onnx
