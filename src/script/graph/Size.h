#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::script {

/// A size as far as it is known: not at all, or as offset + the sum of factor * symbol. A size that
/// is not linear is not known.
class Size {
public:
  /// Not known.
  Size() = default;
  Size(int64_t value) : isKnown(true), offset(value) {}
  static Size symbol(int index);

  bool known() const { return isKnown; }
  std::optional<int64_t> constant() const;
  /// The symbol, where the size is nothing but one.
  std::optional<int> asSymbol() const;
  bool isConstant(int64_t value) const { return constant() == value; }

  int64_t evaluate(std::span<const int64_t> symbols) const;

  struct Term {
    int symbol;
    int64_t factor;
    bool operator==(const Term &) const = default;
  };
  /// In the order of symbols; no factor is 0.
  const std::vector<Term> &terms() const { return sum; }
  int64_t offsetValue() const { return offset; }

  friend Size operator+(const Size &a, const Size &b);
  friend Size operator-(const Size &a, const Size &b);
  friend Size operator*(const Size &a, const Size &b);
  /// Equal for all values of the symbols. An unknown size equals none.
  friend bool sameSize(const Size &a, const Size &b);

  /// "s0 + 1", "50", "?"
  std::string text() const;

private:
  static Size combine(const Size &a, const Size &b, int64_t factor);

  bool isKnown = false;
  int64_t offset = 0;
  std::vector<Term> sum;
};

} // namespace headrace::script
