#include "dialect/SizeAlgebra.h"

#include "dialect/SymbolicShape.h"

#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <map>

using namespace mlir;

namespace headrace {

namespace {
/// A sum of products: each product's factors, sorted, with its coefficient. An expression that is
/// neither a sum nor a product counts as one factor.
using Factors = std::vector<AffineExpr>;
struct FactorsLess {
  bool operator()(const Factors &a, const Factors &b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(), before);
  }
  /// By structure, not by address: the same program always prints the same.
  static bool before(AffineExpr a, AffineExpr b) {
    if (a.getKind() != b.getKind())
      return a.getKind() > b.getKind();
    if (auto symbol = dyn_cast<AffineSymbolExpr>(a))
      return symbol.getPosition() < cast<AffineSymbolExpr>(b).getPosition();
    if (auto constant = constantValue(a))
      return *constant < *constantValue(b);
    auto x = dyn_cast<AffineBinaryOpExpr>(a), y = dyn_cast<AffineBinaryOpExpr>(b);
    if (!x || x == y)
      return false;
    return x.getLHS() != y.getLHS() ? before(x.getLHS(), y.getLHS())
                                    : before(x.getRHS(), y.getRHS());
  }
};
using Polynomial = std::map<Factors, int64_t, FactorsLess>;
} // namespace

static constexpr size_t kMostTerms = 64;

/// Adds scale * p * q to the sum; false where numbers or terms get out of hand.
static bool addProduct(Polynomial &sum, const Polynomial &p, const Polynomial &q, int64_t scale) {
  for (const auto &[factors, coefficient] : p)
    for (const auto &[otherFactors, otherCoefficient] : q) {
      Factors all(factors);
      all.insert(all.end(), otherFactors.begin(), otherFactors.end());
      std::sort(all.begin(), all.end(), FactorsLess::before);
      int64_t product;
      int64_t &total = sum[all];
      if (llvm::MulOverflow(coefficient, otherCoefficient, product) ||
          llvm::MulOverflow(product, scale, product) || llvm::AddOverflow(total, product, total))
        return false;
      if (total == 0)
        sum.erase(all);
      if (sum.size() > kMostTerms)
        return false;
    }
  return true;
}

static std::optional<Polynomial> polynomial(AffineExpr expr) {
  if (auto constant = constantValue(expr))
    return *constant == 0 ? Polynomial{} : Polynomial{{{}, *constant}};
  bool isSum = expr.getKind() == AffineExprKind::Add;
  if (!isSum && expr.getKind() != AffineExprKind::Mul)
    return Polynomial{{{expr}, 1}};
  auto binary = cast<AffineBinaryOpExpr>(expr);
  auto lhs = polynomial(binary.getLHS()), rhs = polynomial(binary.getRHS());
  if (!lhs || !rhs)
    return std::nullopt;
  const Polynomial one{{{}, 1}};
  Polynomial result;
  bool fits = isSum ? addProduct(result, *lhs, one, 1) && addProduct(result, *rhs, one, 1)
                    : addProduct(result, *lhs, *rhs, 1);
  return fits ? std::optional(result) : std::nullopt;
}

static AffineExpr expression(const Polynomial &p, MLIRContext *context) {
  AffineExpr sum = constantDim(0, context);
  for (const auto &[factors, coefficient] : p) {
    AffineExpr product = constantDim(1, context);
    for (AffineExpr factor : factors)
      product = product * factor;
    sum = sum + product * coefficient;
  }
  return sum;
}

/// The quotient of two products, if the second divides the first.
static std::optional<Polynomial> divideTerm(const Polynomial::value_type &a,
                                            const Polynomial::value_type &b) {
  if (a.second % b.second != 0 || !std::includes(a.first.begin(), a.first.end(), b.first.begin(),
                                                 b.first.end(), FactorsLess::before))
    return std::nullopt;
  Factors rest;
  std::set_difference(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(),
                      std::back_inserter(rest), FactorsLess::before);
  return Polynomial{{rest, a.second / b.second}};
}

AffineExpr normalized(AffineExpr expr) {
  unsigned symbols = 0;
  expr.walk([&](AffineExpr part) {
    if (auto symbol = dyn_cast<AffineSymbolExpr>(part))
      symbols = std::max(symbols, symbol.getPosition() + 1);
  });
  expr = simplifyAffineExpr(expr, 0, symbols);
  if (expr.isPureAffine())
    return expr;
  auto sum = polynomial(expr);
  return sum ? expression(*sum, expr.getContext()) : expr;
}

std::optional<AffineExpr> exactQuotient(AffineExpr a, AffineExpr b) {
  auto rest = polynomial(a), divisor = polynomial(b);
  if (!rest || !divisor || divisor->empty())
    return std::nullopt;
  // Long division; whatever order the terms are taken in, no remainder means an exact quotient.
  Polynomial quotient;
  const Polynomial one{{{}, 1}};
  for (size_t i = 0; i < kMostTerms && !rest->empty(); ++i) {
    auto term = divideTerm(*rest->rbegin(), *divisor->rbegin());
    if (!term || !addProduct(quotient, *term, one, 1) || !addProduct(*rest, *term, *divisor, -1))
      return std::nullopt;
  }
  if (!rest->empty())
    return std::nullopt;
  return expression(quotient, a.getContext());
}

static bool isWithin(AffineExpr expr, int64_t mostAbsolute, int &budget) {
  if (--budget < 0)
    return false;
  if (auto constant = constantValue(expr))
    return *constant <= mostAbsolute && *constant >= -mostAbsolute;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || (isWithin(binary.getLHS(), mostAbsolute, budget) &&
                     isWithin(binary.getRHS(), mostAbsolute, budget));
}

bool isManageable(AffineExpr expr, int64_t mostAbsolute) {
  int budget = 256;
  return isWithin(expr, mostAbsolute, budget);
}

bool isNonNegative(AffineExpr expr) {
  if (auto constant = constantValue(expr))
    return *constant >= 0;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return !binary || (isNonNegative(binary.getLHS()) && isNonNegative(binary.getRHS()));
}

} // namespace headrace
