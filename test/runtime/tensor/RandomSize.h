#pragma once

#include "runtime/tensor/DimExpr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <random>

namespace headrace::test {

/// A random expression and its value, computed next to it in plain arithmetic. The sizes can be of
/// any type that has an algebra, given as one of these:
struct DimExprAlgebra {
  using Expr = DimExpr;
  static constexpr bool hasExtrema = true;
  DimExpr constant(int64_t value) const { return DimExpr::constant(value); }
  DimExpr symbol(unsigned index) const { return DimExpr::symbol(index); }
  DimExpr floorDiv(const DimExpr &a, int64_t b) const { return a.floorDiv(constant(b)); }
  DimExpr ceilDiv(const DimExpr &a, int64_t b) const { return a.ceilDiv(constant(b)); }
  DimExpr mod(const DimExpr &a, int64_t b) const { return a.mod(constant(b)); }
  DimExpr max(const DimExpr &a, const DimExpr &b) const { return a.max(b); }
  DimExpr min(const DimExpr &a, const DimExpr &b) const { return a.min(b); }
};

template <class Algebra = DimExprAlgebra> class RandomSize {
public:
  using Expr = typename Algebra::Expr;

  explicit RandomSize(unsigned seed, Algebra algebra = {}) : algebra(algebra), random(seed) {
    for (int64_t &value : symbols)
      value = pick(1, 9);
  }

  std::pair<Expr, int64_t> make(int depth) {
    if (depth == 0 || pick(0, 5) == 0)
      return leaf();
    auto [a, x] = make(depth - 1);
    auto [b, y] = make(depth - 1);
    switch (pick(0, 7)) {
    case 0:
      return {a + b, x + y};
    case 1:
      return {a - b, x - y};
    case 2:
      return {a * b, x * y};
    case 3:
      if constexpr (Algebra::hasExtrema)
        return {algebra.max(a, b), std::max(x, y)};
      return {a + b, x + y};
    case 4:
      if constexpr (Algebra::hasExtrema)
        return {algebra.min(a, b), std::min(x, y)};
      return {a * b, x * y};
    default:
      return quotient(a, x);
    }
  }

  /// Sums and products alone.
  std::pair<Expr, int64_t> polynomial(int depth) {
    if (depth == 0)
      return leaf();
    auto [a, x] = polynomial(depth - 1);
    auto [b, y] = polynomial(depth - 1);
    return pick(0, 1) == 0 ? std::pair(a + b, x + y) : std::pair(a * b, x * y);
  }

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  }

  std::array<int64_t, 3> symbols{};

private:
  std::pair<Expr, int64_t> leaf() {
    if (pick(0, 1) == 0) {
      int64_t value = pick(-6, 6);
      return {algebra.constant(value), value};
    }
    auto index = static_cast<unsigned>(pick(0, 2));
    return {algebra.symbol(index), symbols[index]};
  }

  std::pair<Expr, int64_t> quotient(const Expr &a, int64_t x) {
    // Only a size of the runtime is defined for divisors below 0.
    int64_t d = pick(1, 7) * (Algebra::hasExtrema && pick(0, 3) == 0 ? -1 : 1);
    double quotient = static_cast<double>(x) / static_cast<double>(d);
    auto floor = static_cast<int64_t>(std::floor(quotient));
    switch (pick(0, 2)) {
    case 0:
      return {algebra.floorDiv(a, d), floor};
    case 1:
      return {algebra.ceilDiv(a, d), static_cast<int64_t>(std::ceil(quotient))};
    default:
      return {algebra.mod(a, d), x - floor * d};
    }
  }

  Algebra algebra;
  std::mt19937 random;
};

} // namespace headrace::test
