#include "runtime/system/Error.h"
#include "runtime/tensor/DimExprAlgebra.h"

#include <algorithm>
#include <numeric>

namespace headrace {

// --- Division by a constant --------------------------------------------------------------------

// The multiples of the divisor leave the division, what stays is reduced.
DimExpr DimExpr::Division::floorDivByConstant(const DimExpr &a, int64_t divisor) {
  Terms whole, rest;
  int64_t common = divisor;
  for (const Term &term : a.terms()) {
    bool divisible = term.coefficient % divisor == 0;
    (divisible ? whole : rest).push_back(term);
    if (divisible)
      whole.back().coefficient /= divisor;
    else
      common = std::gcd(common, term.coefficient % divisor);
  }
  DimExpr quotient = Algebra::make(floorDivide(a.offset, divisor), std::move(whole));
  if (rest.empty())
    return quotient;
  for (Term &term : rest)
    term.coefficient /= common;
  DimExpr dividend = Algebra::make(floorMod(a.offset, divisor) / common, std::move(rest));
  return quotient + mergeNested(dividend, divisor / common);
}

// (x / c + r) / d == (x + r c) / (c d)
DimExpr DimExpr::Division::mergeNested(const DimExpr &dividend, int64_t divisor) {
  std::span<const Term> terms = dividend.terms();
  if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1) {
    const Atom &inner = *terms[0].factors[0];
    std::optional<int64_t> innerDivisor = inner.rhs.asConstant();
    int64_t merged = 0;
    if (inner.kind == Kind::FloorDiv && innerDivisor && *innerDivisor > 0 &&
        !__builtin_mul_overflow(*innerDivisor, divisor, &merged))
      return floorDivByConstant(
          inner.lhs + DimExpr::constant(checkedMultiply(dividend.offset, *innerDivisor)), merged);
  }
  return Algebra::fromAtom({Kind::FloorDiv, 0, dividend, DimExpr::constant(divisor)});
}

// Reduced as the dividend of a quotient is, so that the two can be told to belong together:
// (g x + r) % (g d) == g (x % d) + r where 0 <= r < g.
DimExpr DimExpr::Division::modByConstant(const DimExpr &a, int64_t divisor) {
  Terms terms(a.terms().begin(), a.terms().end());
  int64_t common = divisor;
  for (Term &term : terms) {
    term.coefficient = floorMod(term.coefficient, divisor);
    common = std::gcd(common, term.coefficient);
  }
  for (Term &term : terms)
    term.coefficient /= common;
  int64_t offset = floorMod(a.offset, divisor);
  DimExpr reduced = Algebra::make(offset / common, std::move(terms));
  if (!reduced.sum)
    return DimExpr::constant(offset);
  DimExpr rest =
      Algebra::fromAtom({Kind::Mod, 0, std::move(reduced), DimExpr::constant(divisor / common)});
  return Algebra::addScaled(DimExpr::constant(offset % common), rest, common);
}

// --- Remainders in sums ------------------------------------------------------------------------

static bool isByConstant(const DimExpr::Atom &atom, DimExpr::Atom::Kind kind) {
  return atom.kind == kind && atom.rhs.asConstant().value_or(0) > 0;
}

// The term without one of its factors; nullopt if it has not got it.
std::optional<DimExpr::Term> DimExpr::Division::without(const Term &term, const Atom &factor) {
  auto found = std::ranges::find_if(
      term.factors, [&](const AtomRef &other) { return Algebra::compare(*other, factor) == 0; });
  if (found == term.factors.end())
    return std::nullopt;
  Term rest = term;
  rest.factors.erase(rest.factors.begin() + (found - term.factors.begin()));
  return rest;
}

DimExpr DimExpr::Division::foldRemainders(DimExpr sum) {
  auto before = [](const AtomRef &a, const AtomRef &b) { return Algebra::compare(*a, *b) < 0; };
  std::vector<AtomRef> quotients, remainders;
  for (const Term &term : sum.terms())
    for (const AtomRef &atom : term.factors) {
      if (isByConstant(*atom, Kind::FloorDiv))
        quotients.push_back(atom);
      else if (isByConstant(*atom, Kind::Mod))
        remainders.push_back(atom);
    }
  if (quotients.empty())
    return sum;
  std::ranges::sort(remainders, before);
  try {
    for (const AtomRef &quotient : quotients) {
      if (remainders.empty())
        break;
      // Of a dividend that is reduced already the remainder is one atom.
      DimExpr rest = modByConstant(quotient->lhs, quotient->rhs.constantPart());
      const AtomRef &remainder = rest.terms()[0].factors[0];
      auto found = std::ranges::equal_range(remainders, remainder, before);
      if (found.empty())
        continue;
      remainders.erase(found.begin(), found.end());
      sum = expandRemainder(sum, *remainder, quotient);
    }
    while (std::optional<DimExpr> shorter = takeRemainder(sum))
      sum = *shorter;
    return sum;
  } catch (const Error &) {
    return sum; // too large on the way: it stays as it is, right, only longer
  }
}

// Every k*R*(X % d) as k*R*X - k*d*R*(X // d).
DimExpr DimExpr::Division::expandRemainder(const DimExpr &sum, const Atom &remainder,
                                           const AtomRef &quotient) {
  DimExpr expanded = Algebra::addScaled(quotient->lhs, Algebra::fromTerm({1, {quotient}}),
                                        -quotient->rhs.constantPart());
  DimExpr result = sum;
  for (bool changed = true; changed;) {
    changed = false;
    for (const Term &term : result.terms()) {
      auto rest = without(term, remainder);
      if (!rest)
        continue;
      DimExpr other = Algebra::product(Algebra::fromTerm(std::move(*rest)), expanded);
      result =
          Algebra::addScaled(Algebra::addScaled(result, Algebra::fromTerm(term), -1), other, 1);
      changed = true;
      break;
    }
  }
  return result;
}

// The first k*R*X - k*d*R*(X // d) as k*R*(X % d): each time there is one quotient less.
std::optional<DimExpr> DimExpr::Division::takeRemainder(const DimExpr &sum) {
  for (const Term &term : sum.terms())
    for (const AtomRef &quotient : term.factors) {
      if (!isByConstant(*quotient, Kind::FloorDiv))
        continue;
      int64_t divisor = quotient->rhs.constantPart();
      if (term.coefficient % divisor != 0)
        continue;
      Term rest = *without(term, *quotient);
      rest.coefficient = checkedMultiply(term.coefficient / divisor, -1);
      DimExpr scale = Algebra::fromTerm(std::move(rest));
      const DimExpr &dividend = quotient->lhs;
      DimExpr open = Algebra::addScaled(dividend, DimExpr::constant(dividend.offset), -1);
      if (!holds(sum, Algebra::product(scale, open)))
        continue;
      DimExpr other = Algebra::addScaled(modByConstant(dividend, divisor), dividend, -1);
      return Algebra::addScaled(Algebra::addScaled(sum, Algebra::fromTerm(term), -1),
                                Algebra::product(scale, other), 1);
    }
  return std::nullopt;
}

// Whether the part can be taken from the sum without a term changing its sign.
bool DimExpr::Division::holds(const DimExpr &sum, const DimExpr &part) {
  return std::ranges::all_of(part.terms(), [&](const Term &wanted) {
    auto found = std::lower_bound(
        sum.terms().begin(), sum.terms().end(), wanted,
        [](const Term &a, const Term &b) { return Algebra::compare(a.factors, b.factors) < 0; });
    if (found == sum.terms().end() || Algebra::compare(found->factors, wanted.factors) != 0)
      return false;
    return wanted.coefficient > 0 ? found->coefficient >= wanted.coefficient
                                  : found->coefficient <= wanted.coefficient;
  });
}

// --- Exact division ----------------------------------------------------------------------------

// Long division by leading terms: the ones of most factors, and the last of those. In this order
// the leading term of a product is the product of the leading terms, so that every exact quotient
// is found.
std::optional<DimExpr> DimExpr::Division::exactQuotient(const DimExpr &a, const DimExpr &b) {
  auto leading = [](const DimExpr &expr) {
    Term result{expr.offset, {}};
    for (const Term &term : expr.terms())
      if (term.factors.size() >= result.factors.size())
        result = term;
    return result;
  };
  auto before = [](const AtomRef &x, const AtomRef &y) { return Algebra::compare(*x, *y) < 0; };
  constexpr int maxSteps = 256;
  Term divisor = leading(b);
  if (divisor.coefficient == 0)
    return std::nullopt;
  DimExpr quotient, rest = a;
  for (int step = 0; rest.asConstant() != 0; ++step) {
    Term term = leading(rest);
    if (step == maxSteps || floorMod(term.coefficient, divisor.coefficient) != 0 ||
        !std::ranges::includes(term.factors, divisor.factors, before))
      return std::nullopt;
    Term part{floorDivide(term.coefficient, divisor.coefficient), {}};
    std::ranges::set_difference(term.factors, divisor.factors, std::back_inserter(part.factors),
                                before);
    DimExpr found = Algebra::fromTerm(std::move(part));
    quotient = Algebra::addScaled(quotient, found, 1);
    rest = Algebra::addScaled(rest, Algebra::product(found, b), -1);
  }
  return foldRemainders(std::move(quotient));
}

} // namespace headrace
