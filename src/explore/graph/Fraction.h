// Exact fractions: rates and streaming intervals are compared and rounded up, where the error of a
// floating-point number would move a whole schedule by a cycle.
#pragma once

#include "runtime/system/Error.h"

#include <compare>
#include <cstdint>
#include <numeric>
#include <string>

namespace headrace::explore {

/// Numerator and denominator in lowest terms, the denominator positive. Volumes end at 2^40
/// (TaskGraph.h), so that the product of an interval and a volume always fits.
class Fraction {
public:
  constexpr Fraction(int64_t value = 0) : top(value), bottom(1) {}

  static Fraction ratio(int64_t numerator, int64_t denominator) {
    if (denominator <= 0)
      throw InternalError("a fraction has the denominator " + std::to_string(denominator));
    int64_t divisor = std::gcd(numerator, denominator);
    return {numerator / divisor, denominator / divisor};
  }

  int64_t numerator() const { return narrowed(top); }
  int64_t denominator() const { return narrowed(bottom); }

  /// The least integer that is not below.
  int64_t ceiling() const {
    Wide whole = top / bottom;
    return narrowed(whole + (whole * bottom < top ? 1 : 0));
  }
  double approximately() const { return static_cast<double>(top) / static_cast<double>(bottom); }

  friend Fraction operator*(const Fraction &a, const Fraction &b) {
    Wide across = divisorOf(a.top, b.bottom), back = divisorOf(b.top, a.bottom);
    return {times(a.top / across, b.top / back), times(a.bottom / back, b.bottom / across)};
  }
  friend Fraction operator/(const Fraction &a, const Fraction &b) {
    if (b.top <= 0)
      throw InternalError("a fraction is divided by one that is not positive");
    return a * Fraction(b.bottom, b.top);
  }
  friend Fraction operator+(const Fraction &a, const Fraction &b) {
    Wide top = times(a.top, b.bottom) + times(b.top, a.bottom), bottom = times(a.bottom, b.bottom);
    Wide divisor = divisorOf(top, bottom);
    return {top / divisor, bottom / divisor};
  }
  friend std::strong_ordering operator<=>(const Fraction &a, const Fraction &b) {
    return times(a.top, b.bottom) <=> times(b.top, a.bottom);
  }
  friend bool operator==(const Fraction &a, const Fraction &b) = default;

  /// "3" or "3/2".
  std::string text() const {
    std::string whole = std::to_string(numerator());
    return bottom == 1 ? whole : whole + "/" + std::to_string(denominator());
  }

private:
  __extension__ typedef __int128 Wide; // NOLINT(modernize-use-using): 'using' cannot be marked so

  constexpr Fraction(Wide top, Wide bottom) : top(top), bottom(bottom) {}

  static Wide times(Wide a, Wide b) {
    Wide product;
    if (__builtin_mul_overflow(a, b, &product))
      throw Error(ErrorKind::Unsupported, "the volumes of the task graph are too large to compare");
    return product;
  }
  static Wide divisorOf(Wide a, Wide b) {
    a = a < 0 ? -a : a;
    while (b != 0) {
      Wide rest = a % b;
      a = b;
      b = rest;
    }
    return a == 0 ? 1 : a;
  }
  static int64_t narrowed(Wide value) {
    if (value > INT64_MAX || value < INT64_MIN)
      throw Error(ErrorKind::Unsupported, "a time of the task graph is too large to count");
    return static_cast<int64_t>(value);
  }

  Wide top, bottom;
};

} // namespace headrace::explore
