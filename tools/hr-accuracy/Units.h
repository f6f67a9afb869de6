// Errors in units of the last place.
#pragma once

#include "runtime/tensor/Half.h"

#include <cmath>
#include <cstdint>
#include <limits>

namespace headrace::accuracy {

/// A floating-point format: how its numbers are in memory, and how far apart they are.
struct Format {
  int mantissa;    // bits behind the point
  int least, most; // exponents of the least normal and of the greatest numbers
};
inline constexpr Format kF16{10, -14, 15}, kBf16{7, -126, 127}, kF32{23, -126, 127},
    kF64{52, -1022, 1023};

/// How far a result is from the exact value, in units of the last place of the exact one; infinite
/// if one is NaN and the other is not, if a zero has the wrong sign, or if an infinity is
/// not due. Results of exponents below `smallest` count as if they had that.
template <class Exact>
double unitsBetween(Exact got, Exact exact, const Format &format, int smallest) {
  constexpr double kWrong = std::numeric_limits<double>::infinity();
  if (std::isnan(got) || std::isnan(exact))
    return std::isnan(got) && std::isnan(exact) ? 0 : kWrong;
  if (got == exact)
    return got == 0 && std::signbit(got) != std::signbit(exact) ? kWrong : 0;
  if (std::isinf(exact))
    return kWrong;
  int exponent = exact == 0 ? format.least : std::ilogb(exact);
  Exact beyond = std::ldexp(Exact(1), format.most + 1); // what infinity stands for
  if (exponent > format.most) {
    if (std::isinf(got))
      return std::signbit(got) == std::signbit(exact) ? 0 : kWrong;
    exponent = format.most;
    exact = std::copysign(beyond, exact);
  }
  if (std::isinf(got))
    got = std::copysign(beyond, got);
  if (got == 0 && std::signbit(got) != std::signbit(exact))
    return kWrong;
  Exact unit = std::ldexp(Exact(1), std::max(exponent, smallest) - format.mantissa);
  return static_cast<double>(std::fabs(got - exact) / unit);
}

} // namespace headrace::accuracy
