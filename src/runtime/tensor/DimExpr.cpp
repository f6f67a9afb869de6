#include "runtime/tensor/DimExpr.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/DimExprAlgebra.h"

#include <algorithm>
#include <set>

namespace headrace {

DimExpr DimExpr::constant(int64_t value) {
  DimExpr result;
  result.offset = value;
  return result;
}

DimExpr DimExpr::symbol(unsigned index) {
  return Algebra::fromAtom({Atom::Kind::Symbol, index, {}, {}});
}

// --- Arithmetic --------------------------------------------------------------------------------

DimExpr operator+(const DimExpr &a, const DimExpr &b) {
  return DimExpr::Division::foldRemainders(DimExpr::Algebra::addScaled(a, b, 1));
}

DimExpr operator-(const DimExpr &a, const DimExpr &b) {
  return DimExpr::Division::foldRemainders(DimExpr::Algebra::addScaled(a, b, -1));
}

DimExpr operator*(const DimExpr &a, const DimExpr &b) {
  return DimExpr::Division::foldRemainders(DimExpr::Algebra::product(a, b));
}

DimExpr DimExpr::floorDiv(const DimExpr &divisor) const {
  if (std::optional<int64_t> value = divisor.asConstant()) {
    if (!sum)
      return constant(floorDivide(offset, *value));
    if (*value > 0)
      return Division::floorDivByConstant(*this, *value);
    if (*value < 0)
      return Division::floorDivByConstant(constant(0) - *this, checkedMultiply(*value, -1));
  }
  if (std::optional<DimExpr> quotient = exactQuotient(divisor))
    return *quotient;
  return Algebra::fromAtom({Atom::Kind::FloorDiv, 0, *this, divisor});
}

DimExpr DimExpr::ceilDiv(const DimExpr &divisor) const {
  if (divisor.asConstant().value_or(1) < 0)
    return (constant(0) - *this).ceilDiv(constant(0) - divisor);
  return (*this + divisor - constant(1)).floorDiv(divisor);
}

DimExpr DimExpr::mod(const DimExpr &divisor) const {
  if (std::optional<int64_t> value = divisor.asConstant()) {
    if (!sum)
      return constant(floorMod(offset, *value));
    if (*value > 0)
      return Division::modByConstant(*this, *value);
    if (*value < 0)
      return constant(0) -
             Division::modByConstant(constant(0) - *this, checkedMultiply(*value, -1));
  }
  if (exactQuotient(divisor))
    return constant(0);
  return Algebra::fromAtom({Atom::Kind::Mod, 0, *this, divisor});
}

DimExpr DimExpr::max(const DimExpr &other) const {
  return Algebra::extremum(Atom::Kind::Max, *this, other);
}

DimExpr DimExpr::min(const DimExpr &other) const {
  return Algebra::extremum(Atom::Kind::Min, *this, other);
}

std::optional<DimExpr> DimExpr::exactQuotient(const DimExpr &divisor) const {
  try {
    return Division::exactQuotient(*this, divisor);
  } catch (const Error &) {
    return std::nullopt;
  }
}

bool operator==(const DimExpr &a, const DimExpr &b) { return DimExpr::Algebra::compare(a, b) == 0; }

// --- Values ------------------------------------------------------------------------------------

static int64_t evaluate(const DimExpr::Atom &atom, std::span<const int64_t> symbols) {
  using Kind = DimExpr::Atom::Kind;
  if (atom.kind == Kind::Symbol) {
    if (atom.symbol >= symbols.size())
      throw InternalError("symbol " + std::to_string(atom.symbol) + " has no value");
    return symbols[atom.symbol];
  }
  int64_t lhs = atom.lhs.evaluate(symbols), rhs = atom.rhs.evaluate(symbols);
  switch (atom.kind) {
  case Kind::FloorDiv:
    return floorDivide(lhs, rhs);
  case Kind::Mod:
    return floorMod(lhs, rhs);
  case Kind::Max:
    return std::max(lhs, rhs);
  default:
    return std::min(lhs, rhs);
  }
}

int64_t DimExpr::evaluate(std::span<const int64_t> symbols) const {
  int64_t result = offset;
  for (const Term &term : terms()) {
    int64_t value = term.coefficient;
    for (const auto &factor : term.factors)
      value = checkedMultiply(value, headrace::evaluate(*factor, symbols));
    result = checkedAdd(result, value);
  }
  return result;
}

// --- What is known of all values ---------------------------------------------------------------

std::optional<int64_t> DimExpr::asConstant() const {
  return sum ? std::nullopt : std::optional(offset);
}

std::optional<unsigned> DimExpr::asSymbol() const {
  if (offset != 0 || terms().size() != 1)
    return std::nullopt;
  const Term &term = terms()[0];
  if (term.coefficient != 1 || term.factors.size() != 1 ||
      term.factors[0]->kind != Atom::Kind::Symbol)
    return std::nullopt;
  return term.factors[0]->symbol;
}

static void collectSymbols(const DimExpr &expr, std::set<unsigned> &symbols) {
  for (const DimExpr::Term &term : expr.terms())
    for (const auto &factor : term.factors) {
      if (factor->kind == DimExpr::Atom::Kind::Symbol)
        symbols.insert(factor->symbol);
      collectSymbols(factor->lhs, symbols);
      collectSymbols(factor->rhs, symbols);
    }
}

std::vector<unsigned> DimExpr::symbols() const {
  std::set<unsigned> found;
  collectSymbols(*this, found);
  return {found.begin(), found.end()};
}

bool DimExpr::dependsOn(unsigned symbol) const {
  return std::ranges::binary_search(symbols(), symbol);
}

static bool isNonNegative(const DimExpr::Atom &atom) {
  using Kind = DimExpr::Atom::Kind;
  switch (atom.kind) {
  case Kind::Symbol:
    return true;
  case Kind::Mod:
    return atom.rhs.isNonNegative();
  case Kind::Max:
    return atom.lhs.isNonNegative() || atom.rhs.isNonNegative();
  default:
    return atom.lhs.isNonNegative() && atom.rhs.isNonNegative();
  }
}

bool DimExpr::isNonNegative() const {
  return offset >= 0 && std::ranges::all_of(terms(), [](const Term &term) {
           return term.coefficient > 0 && std::ranges::all_of(term.factors, [](const auto &factor) {
                    return headrace::isNonNegative(*factor);
                  });
         });
}

bool DimExpr::hasCoefficientsWithin(int64_t maxAbsolute) const {
  auto within = [&](int64_t value) { return value <= maxAbsolute && value >= -maxAbsolute; };
  return within(offset) && std::ranges::all_of(terms(), [&](const Term &term) {
           return within(term.coefficient) &&
                  std::ranges::all_of(term.factors, [&](const auto &factor) {
                    return factor->lhs.hasCoefficientsWithin(maxAbsolute) &&
                           factor->rhs.hasCoefficientsWithin(maxAbsolute);
                  });
         });
}

std::optional<DimExpr::Bound> DimExpr::boundOfNonNegative() const {
  if (terms().size() != 1 || terms()[0].factors.size() != 1)
    return std::nullopt;
  // scale * core + offset >= 0: the core is at least, or at most, this.
  int64_t scale = terms()[0].coefficient;
  const Atom &core = *terms()[0].factors[0];
  bool isLeast = scale > 0;
  int64_t value = isLeast ? checkedMultiply(floorDivide(offset, scale), -1)
                          : floorDivide(offset, checkedMultiply(scale, -1));
  if (core.kind == Atom::Kind::Symbol)
    return Bound{core.symbol, isLeast, value};
  int64_t divisor = core.rhs.asConstant().value_or(0);
  if (core.kind != Atom::Kind::FloorDiv || divisor <= 0)
    return std::nullopt;
  // e // d >= v is e >= d * v; e // d <= v is e <= d * v + d - 1.
  DimExpr limit = constant(checkedMultiply(divisor, value));
  return (isLeast ? core.lhs - limit : limit + constant(divisor - 1) - core.lhs)
      .boundOfNonNegative();
}

} // namespace headrace
