// Integers rounded up. Values are not negative, and small enough for the sum with a divisor.
#pragma once

#include <concepts>
#include <type_traits>

namespace headrace {

/// How many parts of that size it takes to hold `value`.
template <std::integral T> constexpr T dividedUp(T value, std::type_identity_t<T> part) {
  return (value + part - 1) / part;
}

/// The first multiple that is not smaller than `value`.
template <std::integral T> constexpr T roundedUp(T value, std::type_identity_t<T> multiple) {
  return dividedUp(value, multiple) * multiple;
}

} // namespace headrace
