#include "rewrite/accelerator/NumberFormat.h"

#include "runtime/tensor/Half.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace headrace::rewrite {

namespace {

using Kind = NumberFormat::Kind;

constexpr std::array<std::pair<std::string_view, Kind>, 4> names = {
    {{"float32", Kind::Float32},
     {"float16", Kind::Float16},
     {"float8_e4m3fn", Kind::Float8},
     {"int32", Kind::Int32}}};

double largestOf(Kind kind) {
  switch (kind) {
  case Kind::Float32:
    return std::numeric_limits<float>::max();
  case Kind::Float16:
    return 65504;
  case Kind::Float8:
    return 448;
  case Kind::Int32:
    return std::numeric_limits<int32_t>::max();
  }
  return 0;
}

double minOf(Kind kind) { return kind == Kind::Int32 ? -0x1p31 : -largestOf(kind); }

// Three bits after the point; the smallest exponent is -6, below which numbers are 2^-9 apart.
double roundToFloat8(double value) {
  if (!std::isfinite(value) || value == 0)
    return std::isinf(value) ? std::nan("") : value;
  int exponent = std::max(std::ilogb(value), -6);
  double spacing = std::ldexp(1.0, exponent - 3);
  double rounded = std::nearbyint(value / spacing) * spacing;
  return std::abs(rounded) > 448 ? std::nan("") : rounded;
}

double roundToInt32(double value) {
  if (std::isnan(value))
    return 0;
  double rounded = std::nearbyint(value), range = 0x1p32;
  double wrapped = std::isinf(rounded) ? 0 : std::fmod(rounded, range);
  if (wrapped < -0x1p31)
    wrapped += range;
  return wrapped >= 0x1p31 ? wrapped - range : wrapped;
}

} // namespace

double NumberFormat::bounded(double value) const {
  if (!std::isinf(value) || kind == Kind::Float32 || kind == Kind::Float16)
    return value;
  return value > 0 ? largestOf(kind) : minOf(kind);
}

double NumberFormat::round(double value) const {
  double least = minOf(kind);
  if (saturates && value > largestOf(kind))
    return largestOf(kind);
  if (saturates && value < least)
    return least;
  switch (kind) {
  case Kind::Float32:
    return static_cast<float>(value);
  case Kind::Float16:
    return f16ToFloat(floatToF16(narrowToOdd(value)));
  case Kind::Float8:
    return roundToFloat8(value);
  case Kind::Int32:
    return roundToInt32(value);
  }
  return value;
}

int64_t NumberFormat::bytes() const {
  return kind == Kind::Float8 ? 1 : kind == Kind::Float16 ? 2 : 4;
}

std::optional<Kind> numberFormatNamed(std::string_view name) {
  for (const auto &[known, kind] : names)
    if (known == name)
      return kind;
  return {};
}

} // namespace headrace::rewrite
