#pragma once

#include "runtime/tensor/DimExpr.h"

namespace headrace::script {

/// A size of a script's matrix as far as it is known: not at all, or as a DimExpr. Known is what is
/// linear in the symbols and not too large for a matrix. Of anything else, such as the product of
/// two symbols, the value is taken: a block whose sizes depend on it is planned when it is there.
class Size {
public:
  /// Not known.
  Size() = default;
  Size(int64_t value) : expr(DimExpr::constant(value)) {}
  static Size symbol(int index);

  bool known() const { return expr.has_value(); }
  /// The expression, where it is known.
  const DimExpr &value() const;

  std::optional<int64_t> constant() const { return expr ? expr->asConstant() : std::nullopt; }
  /// The symbol, where the size is nothing but one.
  std::optional<int> asSymbol() const { return expr ? expr->asSymbol() : std::nullopt; }
  bool isConstant(int64_t number) const { return constant() == number; }

  int64_t evaluate(std::span<const int64_t> symbols) const { return value().evaluate(symbols); }

  friend Size operator+(const Size &a, const Size &b);
  friend Size operator-(const Size &a, const Size &b);
  friend Size operator*(const Size &a, const Size &b);
  /// Equal for all values of the symbols. What is not known equals nothing.
  friend bool sameSize(const Size &a, const Size &b);

  /// "s0 + 1", "50", "?"
  std::string text() const { return expr ? expr->str({}) : "?"; }

private:
  template <class Function> static Size combine(const Size &a, const Size &b, Function function);

  std::optional<DimExpr> expr;
};

} // namespace headrace::script
