#pragma once

#include "runtime/tensor/DimExpr.h"

namespace headrace::script {

/// A dimension of a script's matrix, if it is known, as a DimExpr. Expressions that are linear in
/// the symbols and not too large for a matrix are known. Anything else, such as the product of two
/// symbols, is not: a block whose sizes depend on it is planned when its value is computed.
class Size {
public:
  /// Not known.
  Size() = default;
  Size(int64_t value) : expr(DimExpr::constant(value)) {}
  static Size symbol(int index);

  bool known() const { return expr.has_value(); }
  /// The expression, if it is known.
  const DimExpr &value() const;

  std::optional<int64_t> constant() const { return expr ? expr->asConstant() : std::nullopt; }
  /// The symbol, if the size is nothing but one.
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
