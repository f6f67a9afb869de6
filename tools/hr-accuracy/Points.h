// Arguments that functions are tested at.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <functional>
#include <vector>

namespace headrace::accuracy {

/// Gives tensors of arguments one after the other.
using Visit = std::function<void(const Tensor &)>;

/// All numbers of a 16-bit type; of f32 and f64 both signs of every exponent with its first,
/// last and many random mantissas, and a dense sample of what is common.
void visitPoints(DType type, const Visit &visit);

/// Pairs: all of the special numbers, of integers, and random ones of many magnitudes.
void visitPairs(DType type, const std::function<void(const Tensor &, const Tensor &)> &visit);

} // namespace headrace::accuracy
