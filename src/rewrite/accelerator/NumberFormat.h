// The numbers that accelerators compute with. All of them are doubles, too: rounding one gives the
// nearest that the format has.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace::rewrite {

struct NumberFormat {
  enum class Kind { Float32, Float16, Float8, Int32 }; // Float8 is e4m3fn: no infinities, up to 448

  Kind kind = Kind::Float32;
  /// Numbers that are too large become the largest one; else infinity, NaN (Float8), or wrap
  /// (Int32).
  bool saturates = false;

  /// To the nearest, ties to even. NaN stays NaN, and is 0 as Int32.
  double round(double value) const;
  /// Infinity is the largest number if the format has no infinity.
  double bounded(double value) const;
  int64_t bytes() const;
};

/// "float32", "float16", "float8_e4m3fn", "int32"
std::optional<NumberFormat::Kind> numberFormatNamed(std::string_view name);

} // namespace headrace::rewrite
