#pragma once

#include <string_view>

/// Probability distributions: the share of values up to a point, and the point up to which there is
/// a share.
namespace headrace::script {

struct Distribution {
  enum class Kind { Normal, Exponential, ChiSquared, StudentT, F };
  Kind kind = Kind::Normal;
  double first = 0, second = 1; ///< mean and deviation; rate; degrees of freedom

  /// P(X <= x)
  double below(double x) const;
  /// P(X > x), exact if `below` rounds to 1.
  double above(double x) const;
  /// The x with below(x) == share; `upper`: above(x) == share.
  double quantile(double share, bool upper) const;
};

/// Regularized incomplete gamma functions, lower and upper, of a > 0 and x >= 0.
double lowerGamma(double a, double x);
double upperGamma(double a, double x);
/// The regularized incomplete beta function of a, b > 0 and 0 <= x <= 1; `y` is 1 - x.
double incompleteBeta(double a, double b, double x, double y);

} // namespace headrace::script
