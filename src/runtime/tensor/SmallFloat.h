// 8-bit and 4-bit floats: what their codes mean, and exact conversions from and to float.
// F8E8M0 differs from the others: a power of two, without sign, zero or fraction.
#pragma once

#include "runtime/tensor/DType.h"
#include "runtime/tensor/Half.h"

#include <optional>

namespace headrace {

/// A format by its numbers. A code is a sign, an exponent and `mantissaBits`, and codes without
/// sign are in the order of their values up to `largest`; those above are infinity and NaN.
struct SmallFloat {
  int mantissaBits;
  int bias;         // of the exponent
  uint8_t sign;     // the bit
  uint8_t largest;  // code of the largest finite number
  uint8_t overflow; // what a number becomes that is too large
  uint8_t nan;
  bool hasInfinity;
  bool hasNegativeZero; // if not, its code is the only NaN

  /// The float whose bits are a code's, moved to float's places, times this is the code's value:
  /// exactly, also for subnormal numbers.
  float scale() const { return std::ldexp(1.0f, 127 - bias); }
  /// The smallest number that is not subnormal.
  float smallestNormal() const { return std::ldexp(1.0f, 1 - bias); }
  /// The power of two whose neighbouring floats are as far apart as subnormal numbers are.
  float subnormalShift() const { return std::ldexp(1.0f, 1 - bias - mantissaBits + 23); }
};

/// None for types that are not floats of 8 or 4 bits with a sign.
inline std::optional<SmallFloat> smallFloat(DType type) {
  switch (type) {
  case DType::F8E4M3FN:
    return SmallFloat{3, 7, 0x80, 0x7e, 0x7f, 0x7f, false, true};
  case DType::F8E4M3FNUZ:
    return SmallFloat{3, 8, 0x80, 0x7f, 0x80, 0x80, false, false};
  case DType::F8E5M2:
    return SmallFloat{2, 15, 0x80, 0x7b, 0x7c, 0x7e, true, true};
  case DType::F8E5M2FNUZ:
    return SmallFloat{2, 16, 0x80, 0x7f, 0x80, 0x80, false, false};
  case DType::F4E2M1: // has neither infinity nor NaN, which becomes a zero of the other sign
    return SmallFloat{1, 1, 0x08, 0x07, 0x07, 0x08, false, true};
  default:
    return std::nullopt;
  }
}

/// The value of a code, exactly.
inline float smallToFloat(const SmallFloat &format, uint8_t code) {
  uint8_t magnitude = code & static_cast<uint8_t>(format.sign - 1);
  bool isNegative = (code & format.sign) != 0;
  float value = std::bit_cast<float>(uint32_t{magnitude} << (23 - format.mantissaBits));
  value *= format.scale();
  if (magnitude > format.largest)
    value = format.hasInfinity && magnitude == format.overflow ? INFINITY : NAN;
  if (!format.hasNegativeZero && code == format.nan)
    return NAN;
  return isNegative ? -value : value;
}

/// Rounds to nearest even; `saturate`: values that are too large become the largest one.
inline uint8_t floatToSmall(const SmallFloat &format, float value, bool saturate) {
  auto bits = std::bit_cast<uint32_t>(value);
  uint32_t magnitude = bits & 0x7fffffffu;
  auto sign = static_cast<uint8_t>(bits >> 31 ? format.sign : 0);
  uint32_t code = 0;
  if (magnitude > 0x7f800000u) {
    code = format.nan;
  } else if (std::bit_cast<float>(magnitude) < format.smallestNormal()) {
    // The addition rounds for us.
    float shifted = std::bit_cast<float>(magnitude) + format.subnormalShift();
    code = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(format.subnormalShift());
  } else {
    int shift = 23 - format.mantissaBits;
    uint32_t rounded = magnitude + (1u << (shift - 1)) - 1 + ((magnitude >> shift) & 1);
    code = (rounded >> shift) - (static_cast<uint32_t>(127 - format.bias) << format.mantissaBits);
    if (code > format.largest)
      code = saturate ? format.largest : format.overflow;
  }
  if (!format.hasNegativeZero && (code == 0 || code == format.nan))
    sign = 0;
  return static_cast<uint8_t>(code ^ sign);
}

/// F8E8M0: 2^(code - 127), or NaN.
inline constexpr uint8_t kPowerNan = 0xff;

/// The value of an F8E8M0 code.
inline float powerToFloat(uint8_t code) {
  return code == kPowerNan ? NAN : std::ldexp(1.0f, code - 127);
}

/// The smallest power of two that is at least the magnitude. If there is none: the largest if
/// `saturate`, else NaN. Infinity becomes NaN.
inline uint8_t floatToPower(float value, bool saturate) {
  uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffffu;
  if (magnitude >= 0x7f800000u)
    return kPowerNan;
  uint32_t code = (magnitude + 0x7fffffu) >> 23;
  return static_cast<uint8_t>(saturate && code == kPowerNan ? kPowerNan - 1u : code);
}

} // namespace headrace
