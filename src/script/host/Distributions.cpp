#include "script/host/Distributions.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headrace::script {

static constexpr double kEpsilon = 1e-16;
static constexpr double kTiny = 1e-300;
static constexpr int kMaxTerms = 100000;

static double logGamma(double x) {
  int sign = 0;
  return lgamma_r(x, &sign); // std::lgamma writes to a global variable
}

// --- Incomplete gamma and beta functions -------------------------------------------------------

/// x^a exp(-x) / gamma(a)
static double gammaFactor(double a, double x) {
  return std::exp(a * std::log(x) - x - logGamma(a));
}

static double gammaSeries(double a, double x) {
  double term = 1 / a, sum = term;
  for (int n = 1; n < kMaxTerms && term > sum * kEpsilon; ++n) {
    term *= x / (a + n);
    sum += term;
  }
  return sum * gammaFactor(a, x);
}

/// A continued fraction b0 + a1 / (b1 + a2 / (b2 + ...)) by Lentz's method; part(n) gives (an, bn).
template <class Part> static double continuedFraction(double b0, Part part) {
  double result = b0 == 0 ? kTiny : b0, c = result, d = 0;
  for (int n = 1; n < kMaxTerms; ++n) {
    auto [a, b] = part(n);
    d = b + a * d;
    c = b + a / c;
    d = 1 / (d == 0 ? kTiny : d);
    c = c == 0 ? kTiny : c;
    double change = c * d;
    result *= change;
    if (std::fabs(change - 1) < kEpsilon)
      break;
  }
  return result;
}

struct FractionPart {
  double a, b;
};

static double gammaFraction(double a, double x) {
  double fraction = continuedFraction(
      x + 1 - a, [&](int n) { return FractionPart{-n * (n - a), x + 2 * n + 1 - a}; });
  return gammaFactor(a, x) / fraction;
}

double lowerGamma(double a, double x) {
  if (!(x > 0))
    return x == 0 ? 0 : x;
  return x < a + 1 ? gammaSeries(a, x) : 1 - gammaFraction(a, x);
}

double upperGamma(double a, double x) {
  if (!(x > 0))
    return x == 0 ? 1 : x;
  return x < a + 1 ? 1 - gammaSeries(a, x) : gammaFraction(a, x);
}

static double betaFraction(double a, double b, double x, double y) {
  double factor =
      std::exp(logGamma(a + b) - logGamma(a) - logGamma(b) + a * std::log(x) + b * std::log(y));
  double fraction = continuedFraction(1, [&](int n) {
    double m = std::floor(n / 2.0);
    double part = n % 2 == 0 ? m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
                             : -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    return FractionPart{part, 1};
  });
  return factor / (a * fraction);
}

double incompleteBeta(double a, double b, double x, double y) {
  if (!(x > 0))
    return x == 0 ? 0 : x;
  if (!(y > 0))
    return 1;
  if (x < (a + 1) / (a + b + 2))
    return betaFraction(a, b, x, y);
  return 1 - betaFraction(b, a, y, x);
}

// --- Distributions -----------------------------------------------------------------------------

static double normalAbove(double z) { return 0.5 * std::erfc(z / std::numbers::sqrt2); }

/// P(T > t) for t >= 0
static double studentTail(double freedom, double t) {
  double square = t * t;
  return 0.5 * incompleteBeta(freedom / 2, 0.5, freedom / (freedom + square),
                              square / (freedom + square));
}

double Distribution::below(double x) const {
  switch (kind) {
  case Kind::Normal:
    return normalAbove(-(x - first) / second);
  case Kind::Exponential:
    return x <= 0 ? 0 : -std::expm1(-first * x);
  case Kind::ChiSquared:
    return x <= 0 ? 0 : lowerGamma(first / 2, x / 2);
  case Kind::StudentT:
    return x < 0 ? studentTail(first, x) : 1 - studentTail(first, x);
  case Kind::F:
    return x <= 0 ? 0
                  : incompleteBeta(first / 2, second / 2, first * x / (first * x + second),
                                   second / (first * x + second));
  }
  return 0;
}

double Distribution::above(double x) const {
  switch (kind) {
  case Kind::Normal:
    return normalAbove((x - first) / second);
  case Kind::Exponential:
    return x <= 0 ? 1 : std::exp(-first * x);
  case Kind::ChiSquared:
    return x <= 0 ? 1 : upperGamma(first / 2, x / 2);
  case Kind::StudentT:
    return x > 0 ? studentTail(first, x) : 1 - studentTail(first, x);
  case Kind::F:
    return x <= 0 ? 1
                  : incompleteBeta(second / 2, first / 2, second / (first * x + second),
                                   first * x / (first * x + second));
  }
  return 0;
}

double Distribution::quantile(double share, bool upper) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (!(share >= 0 && share <= 1))
    return std::numeric_limits<double>::quiet_NaN();
  if (kind == Kind::Exponential)
    return (upper ? -std::log(share) : -std::log1p(-share)) / first;
  bool symmetric = kind == Kind::Normal || kind == Kind::StudentT;
  if (share == (upper ? 0 : 1))
    return infinity;
  if (share == (upper ? 1 : 0))
    return symmetric ? -infinity : 0;
  if (symmetric && share == 0.5)
    return kind == Kind::Normal ? first : 0;
  // Whether x is too small.
  auto isBelow = [&](double x) { return upper ? above(x) > share : below(x) < share; };
  double center = kind == Kind::Normal ? first : 0, width = kind == Kind::Normal ? second : 1;
  double low = symmetric ? center - width : 0, high = center + width;
  while (symmetric && !isBelow(low) && std::isfinite(low))
    low = center - (center - low) * 2;
  while (isBelow(high) && std::isfinite(high))
    high = center + (high - center) * 2;
  // Halved until neighbors: no derivative that may vanish, and every digit.
  for (int i = 0; i < 2000; ++i) {
    double middle = low + (high - low) / 2;
    if (middle == low || middle == high)
      break;
    (isBelow(middle) ? low : high) = middle;
  }
  return high;
}

} // namespace headrace::script
