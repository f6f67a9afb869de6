#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headrace {

/// A size that may depend on symbols: the one algebra of sizes, under the types of the compiler,
/// the graphs of scripts and the programs that run. Immutable and cheap to copy.
///
/// Kept as a sum of products in a fixed order, so that equal polynomials are equal expressions:
/// (s + 2 - 3 + 1) == s, (2 * s) / 2 == s. Symbols are taken to be 0 or more, divisors to be
/// positive if they are not constant. Arithmetic that overflows, and expressions beyond a few
/// thousand parts, throw Error.
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
  /// The quotient if the division leaves no remainder, whatever the symbols are; nullopt if
  /// that is not known. Never throws.
  std::optional<DimExpr> exactQuotient(const DimExpr &divisor) const;

  /// The value for these symbols; throws Error on overflow or division by zero.
  int64_t evaluate(std::span<const int64_t> symbols) const;

  std::optional<int64_t> asConstant() const;
  /// The index, when the expression is nothing but one symbol.
  std::optional<unsigned> asSymbol() const;

  bool dependsOn(unsigned symbol) const;
  /// All symbols it depends on, ascending.
  std::vector<unsigned> symbols() const;

  /// Whether no symbols make it negative, as far as the signs of its parts tell.
  bool isNonNegative() const;
  /// Whether no coefficient, here or inside a division, is beyond this.
  bool hasCoefficientsWithin(int64_t maxAbsolute) const;
  /// A bound of one symbol, itself included.
  struct Bound {
    unsigned symbol;
    bool isLeast;
    int64_t value;
  };
  /// The bound that holds exactly if the expression is not negative; nullopt if that is not a
  /// bound of one symbol.
  std::optional<Bound> boundOfNonNegative() const;

  /// E.g. "2*batch + 3"; symbols without a name are s0, s1, ...
  std::string str(std::span<const std::string> names) const;
  /// The inverse of str({}), for a program of that many symbols; throws Error on anything else.
  static DimExpr parse(std::string_view text, size_t symbols);

  friend bool operator==(const DimExpr &a, const DimExpr &b);

  // The sum, for whoever writes it in another form; DimExprNodes.h has the types.
  struct Atom; // a symbol, or a function that is not a polynomial
  struct Term; // coefficient * atom * atom ...
  std::span<const Term> terms() const;
  int64_t constantPart() const { return offset; }

private:
  struct Sum; // terms in order
  class Algebra;
  class Division;
  class Printer;

  int64_t offset = 0;
  std::shared_ptr<const Sum> sum; // null for a constant
};

} // namespace headrace
