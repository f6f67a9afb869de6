// Values to run programs on: the same on every machine.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <string_view>

namespace headrace::verify {

/// SplitMix64: the same numbers everywhere, unlike the standard library's distributions.
class RandomNumbers {
public:
  explicit RandomNumbers(uint64_t seed) : state(seed) {}

  uint64_t bits(unsigned count);

private:
  uint64_t state;
};

/// Floats in [-1, 1) that the type holds exactly. Integers are 0 or 1: valid as masks, types of
/// tokens and indices of any table.
Tensor randomTensor(DType type, const Shape &shape, RandomNumbers &numbers);

/// What values a case has: random ones, or what is made of them.
enum class ValueKind { Random, Zeros, Negative, Large, Special };
std::string_view nameOf(ValueKind kind);

/// Large floats are up to 1000; special ones have NaN, infinities, -0 and a subnormal number among
/// them. Of integers all kinds but zeros are random.
Tensor tensorOf(ValueKind kind, DType type, const Shape &shape, RandomNumbers &numbers);

} // namespace headrace::verify
