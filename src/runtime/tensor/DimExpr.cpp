#include "runtime/tensor/DimExpr.h"

#include "runtime/system/Error.h"
#include "runtime/tensor/DimExprNodes.h"

#include <algorithm>
#include <numeric>

namespace headrace {

namespace {

// A model file can build sizes from sizes without end.
constexpr size_t maxParts = 4096;

[[noreturn]] void overflow() {
  throw Error(ErrorKind::InvalidArgument, "a size computed from the input sizes exceeds 64 bits");
}

int64_t add(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    overflow();
  return result;
}

int64_t multiply(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_mul_overflow(a, b, &result))
    overflow();
  return result;
}

int64_t floorMod(int64_t a, int64_t b) {
  if (b == 0)
    throw Error(ErrorKind::InvalidArgument,
                "a size computed from the input sizes is divided by zero");
  if (b == -1)
    return 0;
  int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

int64_t floorDivide(int64_t a, int64_t b) {
  int64_t rest = floorMod(a, b);
  if (b == -1)
    return multiply(a, -1);
  return (a / b) - (a % b != rest ? 1 : 0);
}

} // namespace

/// The rules that keep expressions in normal form.
class DimExpr::Algebra {
public:
  using Kind = Atom::Kind;
  using Terms = std::vector<Term>;

  static const Terms &termsOf(const DimExpr &expr) {
    static const Terms none;
    return expr.sum ? expr.sum->terms : none;
  }

  static size_t partsOf(const DimExpr &expr) { return expr.sum ? expr.sum->parts : 1; }

  // `terms` must be in order and distinct.
  static DimExpr make(int64_t offset, Terms terms) {
    DimExpr result;
    result.offset = offset;
    std::erase_if(terms, [](const Term &term) { return term.coefficient == 0; });
    if (terms.empty())
      return result;
    size_t parts = 1;
    for (const Term &term : terms) {
      parts += 1;
      for (const AtomRef &atom : term.factors)
        parts += 1 + partsOf(atom->lhs) + partsOf(atom->rhs);
    }
    if (parts > maxParts)
      throw Error(ErrorKind::Unsupported, "a size computed from the input sizes has more than " +
                                              std::to_string(maxParts) + " parts");
    result.sum = std::make_shared<const Sum>(Sum{std::move(terms), parts});
    return result;
  }

  static DimExpr fromAtom(Atom atom) {
    return make(0, {{1, {std::make_shared<const Atom>(std::move(atom))}}});
  }

  static int compare(const DimExpr &a, const DimExpr &b) {
    if (a.sum != b.sum) {
      const Terms &left = termsOf(a), &right = termsOf(b);
      for (size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (int order = compare(left[i].factors, right[i].factors))
          return order;
        if (left[i].coefficient != right[i].coefficient)
          return left[i].coefficient < right[i].coefficient ? -1 : 1;
      }
      if (left.size() != right.size())
        return left.size() < right.size() ? -1 : 1;
    }
    return a.offset == b.offset ? 0 : a.offset < b.offset ? -1 : 1;
  }

  static int compare(const Atom &a, const Atom &b) {
    if (&a == &b)
      return 0;
    if (a.kind != b.kind)
      return a.kind < b.kind ? -1 : 1;
    if (a.symbol != b.symbol)
      return a.symbol < b.symbol ? -1 : 1;
    int order = compare(a.lhs, b.lhs);
    return order != 0 ? order : compare(a.rhs, b.rhs);
  }

  static int compare(const std::vector<AtomRef> &a, const std::vector<AtomRef> &b) {
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (int order = compare(*a[i], *b[i]))
        return order;
    return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
  }

  static DimExpr addScaled(const DimExpr &a, const DimExpr &b, int64_t scale) {
    Terms terms;
    const Terms &left = termsOf(a), &right = termsOf(b);
    for (size_t i = 0, j = 0; i < left.size() || j < right.size();) {
      int order = i == left.size()    ? 1
                  : j == right.size() ? -1
                                      : compare(left[i].factors, right[j].factors);
      if (order < 0) {
        terms.push_back(left[i++]);
        continue;
      }
      terms.push_back(right[j++]);
      terms.back().coefficient = multiply(terms.back().coefficient, scale);
      if (order == 0)
        terms.back().coefficient = add(terms.back().coefficient, left[i++].coefficient);
    }
    return make(add(a.offset, multiply(b.offset, scale)), std::move(terms));
  }

  static DimExpr product(const DimExpr &a, const DimExpr &b) {
    // Offsets first, then every pair of terms.
    DimExpr result =
        addScaled(DimExpr::constant(multiply(a.offset, b.offset)), make(0, termsOf(a)), b.offset);
    result = addScaled(result, make(0, termsOf(b)), a.offset);
    for (const Term &left : termsOf(a))
      for (const Term &right : termsOf(b)) {
        Term term{multiply(left.coefficient, right.coefficient), {}};
        std::merge(left.factors.begin(), left.factors.end(), right.factors.begin(),
                   right.factors.end(), std::back_inserter(term.factors),
                   [](const AtomRef &x, const AtomRef &y) { return compare(*x, *y) < 0; });
        result = addScaled(result, make(0, {std::move(term)}), 1);
      }
    return result;
  }

  // a / b where that is exact whatever the symbols are.
  static std::optional<DimExpr> exactQuotient(const DimExpr &a, const DimExpr &b) {
    if (!b.sum || !a.sum)
      return std::nullopt;
    if (termsOf(b).size() == 1 && b.offset == 0 && a.offset == 0)
      return quotientByTerm(a, termsOf(b)[0]);
    int64_t ratio = floorDivide(termsOf(a)[0].coefficient, termsOf(b)[0].coefficient);
    DimExpr multiple = DimExpr::constant(ratio);
    if (product(b, multiple) == a)
      return multiple;
    return std::nullopt;
  }

  static std::optional<DimExpr> quotientByTerm(const DimExpr &a, const Term &divisor) {
    DimExpr result;
    for (const Term &term : termsOf(a)) {
      if (floorMod(term.coefficient, divisor.coefficient) != 0)
        return std::nullopt;
      Term left{floorDivide(term.coefficient, divisor.coefficient), term.factors};
      for (const AtomRef &factor : divisor.factors) {
        auto found = std::find_if(left.factors.begin(), left.factors.end(),
                                  [&](const AtomRef &f) { return compare(*f, *factor) == 0; });
        if (found == left.factors.end())
          return std::nullopt;
        left.factors.erase(found);
      }
      DimExpr part =
          left.factors.empty() ? DimExpr::constant(left.coefficient) : make(0, {std::move(left)});
      result = result + part;
    }
    return result;
  }

  // For divisor > 0: the multiples of the divisor leave the division, what stays is reduced.
  static DimExpr floorDivByConstant(const DimExpr &a, int64_t divisor) {
    Terms whole, rest;
    int64_t common = divisor;
    for (const Term &term : termsOf(a)) {
      bool divisible = term.coefficient % divisor == 0;
      (divisible ? whole : rest).push_back(term);
      if (divisible)
        whole.back().coefficient /= divisor;
      else
        common = std::gcd(common, term.coefficient % divisor);
    }
    DimExpr quotient = make(floorDivide(a.offset, divisor), std::move(whole));
    if (rest.empty())
      return quotient;
    for (Term &term : rest)
      term.coefficient /= common;
    DimExpr dividend = make(floorMod(a.offset, divisor) / common, std::move(rest));
    return quotient + mergeNested(dividend, divisor / common);
  }

  // (x / c + r) / d == (x + r c) / (c d)
  static DimExpr mergeNested(const DimExpr &dividend, int64_t divisor) {
    const Terms &terms = termsOf(dividend);
    if (terms.size() == 1 && terms[0].coefficient == 1 && terms[0].factors.size() == 1) {
      const Atom &inner = *terms[0].factors[0];
      std::optional<int64_t> innerDivisor = inner.rhs.asConstant();
      int64_t merged = 0;
      if (inner.kind == Kind::FloorDiv && innerDivisor && *innerDivisor > 0 &&
          !__builtin_mul_overflow(*innerDivisor, divisor, &merged))
        return floorDivByConstant(
            inner.lhs + DimExpr::constant(multiply(dividend.offset, *innerDivisor)), merged);
    }
    return fromAtom({Kind::FloorDiv, 0, dividend, DimExpr::constant(divisor)});
  }

  static DimExpr modByConstant(const DimExpr &a, int64_t divisor) {
    Terms terms = termsOf(a);
    for (Term &term : terms)
      term.coefficient = floorMod(term.coefficient, divisor);
    DimExpr reduced = make(floorMod(a.offset, divisor), std::move(terms));
    if (!reduced.sum)
      return reduced;
    return fromAtom({Kind::Mod, 0, reduced, DimExpr::constant(divisor)});
  }

  static DimExpr extremum(Kind kind, const DimExpr &a, const DimExpr &b) {
    // Where they differ by a constant the answer is known; the difference must not overflow.
    if (compare(make(0, termsOf(a)), make(0, termsOf(b))) == 0)
      return (a.offset < b.offset) == (kind == Kind::Max) ? b : a;
    bool ordered = compare(a, b) < 0;
    return fromAtom({kind, 0, ordered ? a : b, ordered ? b : a});
  }

  static int64_t evaluate(const Atom &atom, std::span<const int64_t> symbols) {
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
};

DimExpr DimExpr::constant(int64_t value) {
  DimExpr result;
  result.offset = value;
  return result;
}

DimExpr DimExpr::symbol(unsigned index) {
  return Algebra::fromAtom({Atom::Kind::Symbol, index, {}, {}});
}

DimExpr operator+(const DimExpr &a, const DimExpr &b) {
  return DimExpr::Algebra::addScaled(a, b, 1);
}

DimExpr operator-(const DimExpr &a, const DimExpr &b) {
  return DimExpr::Algebra::addScaled(a, b, -1);
}

DimExpr operator*(const DimExpr &a, const DimExpr &b) { return DimExpr::Algebra::product(a, b); }

DimExpr DimExpr::floorDiv(const DimExpr &divisor) const {
  if (std::optional<int64_t> value = divisor.asConstant()) {
    if (!sum)
      return constant(floorDivide(offset, *value));
    if (*value > 0)
      return Algebra::floorDivByConstant(*this, *value);
    if (*value < 0)
      return Algebra::floorDivByConstant(constant(0) - *this, multiply(*value, -1));
  }
  if (std::optional<DimExpr> quotient = Algebra::exactQuotient(*this, divisor))
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
    if (*value != 0)
      return Algebra::modByConstant(*this, *value);
  }
  if (Algebra::exactQuotient(*this, divisor))
    return constant(0);
  return Algebra::fromAtom({Atom::Kind::Mod, 0, *this, divisor});
}

DimExpr DimExpr::max(const DimExpr &other) const {
  return Algebra::extremum(Atom::Kind::Max, *this, other);
}

DimExpr DimExpr::min(const DimExpr &other) const {
  return Algebra::extremum(Atom::Kind::Min, *this, other);
}

int64_t DimExpr::evaluate(std::span<const int64_t> symbols) const {
  int64_t result = offset;
  for (const Term &term : Algebra::termsOf(*this)) {
    int64_t value = term.coefficient;
    for (const AtomRef &factor : term.factors)
      value = multiply(value, Algebra::evaluate(*factor, symbols));
    result = add(result, value);
  }
  return result;
}

std::optional<int64_t> DimExpr::asConstant() const {
  return sum ? std::nullopt : std::optional(offset);
}

std::optional<unsigned> DimExpr::asSymbol() const {
  if (!sum || offset != 0 || sum->terms.size() != 1)
    return std::nullopt;
  const Term &term = sum->terms[0];
  if (term.coefficient != 1 || term.factors.size() != 1 ||
      term.factors[0]->kind != Atom::Kind::Symbol)
    return std::nullopt;
  return term.factors[0]->symbol;
}

bool DimExpr::dependsOn(unsigned symbol) const {
  for (const Term &term : Algebra::termsOf(*this))
    for (const AtomRef &factor : term.factors)
      if (factor->kind == Atom::Kind::Symbol
              ? factor->symbol == symbol
              : factor->lhs.dependsOn(symbol) || factor->rhs.dependsOn(symbol))
        return true;
  return false;
}

bool operator==(const DimExpr &a, const DimExpr &b) { return DimExpr::Algebra::compare(a, b) == 0; }

} // namespace headrace
