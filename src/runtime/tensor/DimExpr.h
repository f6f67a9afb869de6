#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A size that may depend on symbols. Immutable and cheap to copy.
///
/// Kept as a sum of products in a fixed order, so that equal polynomials are equal expressions:
/// (s + 2 - 3 + 1) == s, (2 * s) / 2 == s. Divisors are taken to be positive where they are not
/// constant. Arithmetic that overflows, and expressions beyond a few thousand parts, throw Error.
class DimExpr {
public:
  /// Zero.
  DimExpr() = default;
  static DimExpr constant(int64_t value);
  static DimExpr symbol(unsigned index);

  friend DimExpr operator+(const DimExpr &a, const DimExpr &b);
  friend DimExpr operator-(const DimExpr &a, const DimExpr &b);
  friend DimExpr operator*(const DimExpr &a, const DimExpr &b);
  /// Rounds toward minus infinity; mod has the sign of the divisor.
  DimExpr floorDiv(const DimExpr &divisor) const;
  DimExpr ceilDiv(const DimExpr &divisor) const;
  DimExpr mod(const DimExpr &divisor) const;
  DimExpr max(const DimExpr &other) const;
  DimExpr min(const DimExpr &other) const;

  /// The value for these symbols; throws Error on overflow or division by zero.
  int64_t evaluate(std::span<const int64_t> symbols) const;

  std::optional<int64_t> asConstant() const;
  /// The index, when the expression is nothing but one symbol.
  std::optional<unsigned> asSymbol() const;

  bool dependsOn(unsigned symbol) const;

  /// E.g. "2*batch + 3"; symbols without a name are s0, s1, ...
  std::string str(std::span<const std::string> names) const;
  /// The inverse of str({}), for a program of that many symbols; throws Error on anything else.
  static DimExpr parse(std::string_view text, size_t symbols);

  friend bool operator==(const DimExpr &a, const DimExpr &b);

private:
  struct Atom; // a symbol, or a function that is not a polynomial
  struct Term; // coefficient * atom * atom ...
  struct Sum;  // terms in order
  using AtomRef = std::shared_ptr<const Atom>;
  class Algebra;
  class Printer;

  int64_t offset = 0;
  std::shared_ptr<const Sum> sum; // null for a constant
};

} // namespace headrace
