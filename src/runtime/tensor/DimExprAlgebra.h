#pragma once

// The normal form of DimExpr, for its own source files.

#include "runtime/tensor/DimExprNodes.h"

namespace headrace {

// 64-bit arithmetic that throws Error if the result does not fit.
int64_t checkedAdd(int64_t a, int64_t b);
int64_t checkedMultiply(int64_t a, int64_t b);
int64_t floorMod(int64_t a, int64_t b);
int64_t floorDivide(int64_t a, int64_t b);

/// Sums of products in order.
class DimExpr::Algebra {
public:
  using Kind = Atom::Kind;
  using AtomRef = std::shared_ptr<const Atom>;
  using Factors = std::vector<AtomRef>;
  using Terms = std::vector<Term>;

  static int compare(const DimExpr &a, const DimExpr &b);
  static int compare(const Atom &a, const Atom &b);
  static int compare(const Factors &a, const Factors &b);

  /// `terms` must be in order and distinct; those of coefficient 0 are left out.
  static DimExpr make(int64_t offset, Terms terms);
  static DimExpr fromAtom(Atom atom);
  /// One product; no factors make a constant.
  static DimExpr fromTerm(Term term);

  /// a + scale * b and a * b as polynomials: quotients and remainders of the same numbers stay
  /// apart.
  static DimExpr addScaled(const DimExpr &a, const DimExpr &b, int64_t scale);
  static DimExpr product(const DimExpr &a, const DimExpr &b);

  static DimExpr extremum(Kind kind, const DimExpr &a, const DimExpr &b);
};

/// Quotients and remainders.
class DimExpr::Division {
public:
  using Kind = Atom::Kind;
  using AtomRef = Algebra::AtomRef;
  using Factors = Algebra::Factors;
  using Terms = Algebra::Terms;

  /// For divisor > 0.
  static DimExpr floorDivByConstant(const DimExpr &a, int64_t divisor);
  static DimExpr modByConstant(const DimExpr &a, int64_t divisor);

  /// Writes X - d*(X // d) as X % d and X % d + d*(X // d) as X, for constant d.
  static DimExpr foldRemainders(DimExpr sum);

  /// Throws if numbers or terms on the way get out of hand.
  static std::optional<DimExpr> exactQuotient(const DimExpr &a, const DimExpr &b);

private:
  static DimExpr mergeNested(const DimExpr &dividend, int64_t divisor);
  static std::optional<Term> without(const Term &term, const Atom &factor);
  static DimExpr expandRemainder(const DimExpr &sum, const Atom &remainder,
                                 const AtomRef &quotient);
  static std::optional<DimExpr> takeRemainder(const DimExpr &sum);
  static bool holds(const DimExpr &sum, const DimExpr &part);
};

} // namespace headrace
