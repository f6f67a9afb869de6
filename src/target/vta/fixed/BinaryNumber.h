// Floats as integers times powers of two: every finite one is.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace headrace::vta {

/// The power of two of the lowest digit of a finite number that is not 0.
inline int lowestDigit(double number) {
  constexpr int fractionBits = 52, bias = 1023;
  constexpr uint64_t hiddenDigit = uint64_t{1} << fractionBits;
  auto bits = std::bit_cast<uint64_t>(number);
  auto exponent = static_cast<int>(bits >> fractionBits & 2047);
  uint64_t digits = bits & (hiddenDigit - 1);
  if (exponent == 0) // subnormal
    exponent = 1;
  else
    digits |= hiddenDigit;
  return exponent - bias - fractionBits + std::countr_zero(digits);
}

/// number = factor * 2^exponent.
struct BinaryNumber {
  double factor; ///< odd
  int exponent;
};

inline BinaryNumber binaryNumberOf(double number) {
  int exponent = lowestDigit(number);
  return {std::ldexp(number, -exponent), exponent};
}

} // namespace headrace::vta
