#include "runtime/tensor/DimExprAlgebra.h"

#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

// A model file can build sizes from sizes without end.
static constexpr size_t maxParts = 4096;

[[noreturn]] static void overflow() {
  throw Error(ErrorKind::InvalidArgument, "a size computed from the input sizes exceeds 64 bits");
}

[[noreturn]] static void tooManyParts() {
  throw Error(ErrorKind::Unsupported, "a size computed from the input sizes has more than " +
                                          std::to_string(maxParts) + " parts");
}

int64_t checkedAdd(int64_t a, int64_t b) {
  int64_t result = 0;
  if (__builtin_add_overflow(a, b, &result))
    overflow();
  return result;
}

int64_t checkedMultiply(int64_t a, int64_t b) {
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
    return checkedMultiply(a, -1);
  return (a / b) - (a % b != rest ? 1 : 0);
}

int DimExpr::Algebra::compare(const DimExpr &a, const DimExpr &b) {
  if (a.sum != b.sum) {
    std::span<const Term> left = a.terms(), right = b.terms();
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

int DimExpr::Algebra::compare(const Atom &a, const Atom &b) {
  if (&a == &b)
    return 0;
  if (a.kind != b.kind)
    return a.kind < b.kind ? -1 : 1;
  if (a.symbol != b.symbol)
    return a.symbol < b.symbol ? -1 : 1;
  int order = compare(a.lhs, b.lhs);
  return order != 0 ? order : compare(a.rhs, b.rhs);
}

int DimExpr::Algebra::compare(const Factors &a, const Factors &b) {
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    if (int order = compare(*a[i], *b[i]))
      return order;
  return a.size() == b.size() ? 0 : a.size() < b.size() ? -1 : 1;
}

DimExpr DimExpr::Algebra::make(int64_t offset, Terms terms) {
  DimExpr result;
  result.offset = offset;
  std::erase_if(terms, [](const Term &term) { return term.coefficient == 0; });
  if (terms.empty())
    return result;
  auto partsOf = [](const DimExpr &expr) { return expr.sum ? expr.sum->parts : 1; };
  size_t parts = 1;
  for (const Term &term : terms) {
    parts += 1;
    for (const AtomRef &atom : term.factors)
      parts += 1 + partsOf(atom->lhs) + partsOf(atom->rhs);
  }
  if (parts > maxParts)
    tooManyParts();
  result.sum = std::make_shared<const Sum>(Sum{std::move(terms), parts});
  return result;
}

DimExpr DimExpr::Algebra::fromAtom(Atom atom) {
  return make(0, {{1, {std::make_shared<const Atom>(std::move(atom))}}});
}

DimExpr DimExpr::Algebra::fromTerm(Term term) {
  return term.factors.empty() ? DimExpr::constant(term.coefficient) : make(0, {std::move(term)});
}

DimExpr DimExpr::Algebra::addScaled(const DimExpr &a, const DimExpr &b, int64_t scale) {
  int64_t offset = checkedAdd(a.offset, checkedMultiply(b.offset, scale));
  Terms terms;
  std::span<const Term> left = a.terms(), right = b.terms();
  for (size_t i = 0, j = 0; i < left.size() || j < right.size();) {
    int order = i == left.size()    ? 1
                : j == right.size() ? -1
                                    : compare(left[i].factors, right[j].factors);
    if (order < 0) {
      terms.push_back(left[i++]);
      continue;
    }
    terms.push_back(right[j++]);
    terms.back().coefficient = checkedMultiply(terms.back().coefficient, scale);
    if (order == 0)
      terms.back().coefficient = checkedAdd(terms.back().coefficient, left[i++].coefficient);
  }
  return make(offset, std::move(terms));
}

DimExpr DimExpr::Algebra::product(const DimExpr &a, const DimExpr &b) {
  std::span<const Term> left = a.terms(), right = b.terms();
  if (left.size() * right.size() > maxParts)
    tooManyParts();
  // Every pair of terms, with the offsets as terms without factors.
  Terms pairs;
  auto multiply = [&](const Term &x, const Term &y) {
    Term term{checkedMultiply(x.coefficient, y.coefficient), {}};
    std::merge(x.factors.begin(), x.factors.end(), y.factors.begin(), y.factors.end(),
               std::back_inserter(term.factors),
               [](const AtomRef &f, const AtomRef &g) { return compare(*f, *g) < 0; });
    pairs.push_back(std::move(term));
  };
  for (const Term &x : left) {
    for (const Term &y : right)
      multiply(x, y);
    multiply(x, {b.offset, {}});
  }
  for (const Term &y : right)
    multiply(y, {a.offset, {}});
  std::ranges::sort(pairs,
                    [](const Term &x, const Term &y) { return compare(x.factors, y.factors) < 0; });
  Terms terms;
  for (Term &pair : pairs) {
    if (terms.empty() || compare(terms.back().factors, pair.factors) != 0)
      terms.push_back(std::move(pair));
    else
      terms.back().coefficient = checkedAdd(terms.back().coefficient, pair.coefficient);
  }
  return make(checkedMultiply(a.offset, b.offset), std::move(terms));
}

DimExpr DimExpr::Algebra::extremum(Kind kind, const DimExpr &a, const DimExpr &b) {
  // If they differ by a constant the answer is known; the difference must not overflow.
  auto sameTerms = [](const Term &x, const Term &y) {
    return x.coefficient == y.coefficient && compare(x.factors, y.factors) == 0;
  };
  if (std::ranges::equal(a.terms(), b.terms(), sameTerms))
    return (a.offset < b.offset) == (kind == Kind::Max) ? b : a;
  bool ordered = compare(a, b) < 0;
  return fromAtom({kind, 0, ordered ? a : b, ordered ? b : a});
}

} // namespace headrace
