// Every function as a formula over any type of numbers that has the elementary functions: double,
// long double, or four doubles at a time. Whoever includes this brings those in first.
#pragma once

#include <cmath>

namespace headrace::accuracy {
namespace { // of its own in every unit, since each is compiled for another processor

template <class T> struct ScalarOf {
  using Type = T;
};
template <class T> typename ScalarOf<T>::Type number(long double value) {
  return static_cast<typename ScalarOf<T>::Type>(value);
}

template <class T> T sigmoid(T x) { return 1 / (1 + exp(-x)); }
template <class T> T softplus(T x) { return (x > T{} ? x : T{}) + log1p(exp(-fabs(x))); }
/// Minus infinity times a factor that vanishes.
template <class T> T nanBelow(T x, T value) {
  return x == number<T>(-INFINITY) ? x * number<T>(0) : value;
}
template <class T> T silu(T x) { return nanBelow(x, x * sigmoid(x)); }
template <class T> T mish(T x) { return nanBelow(x, x * tanh(softplus(x))); }
template <class T> T gelu(T x) {
  return nanBelow(x, x * erfc(-x * number<T>(0.70710678118654752440084436210485L)) / 2);
}

} // namespace

/// Name, formula of x, and what counts as small (Smallest).
#define HEADRACE_FUNCTIONS(X)                                                                      \
  X(exp, exp(x), Any)                                                                              \
  X(exp2, exp2(x), Any)                                                                            \
  X(expm1, expm1(x), Any)                                                                          \
  X(log, log(x), Any)                                                                              \
  X(log1p, log1p(x), Any)                                                                          \
  X(log2, log2(x), Any)                                                                            \
  X(log10, log10(x), Any)                                                                          \
  X(sqrt, sqrt(x), Any)                                                                            \
  X(rsqrt, 1 / sqrt(x), Any)                                                                       \
  X(reciprocal, 1 / x, Any)                                                                        \
  X(sin, sin(x), Any)                                                                              \
  X(cos, cos(x), Any)                                                                              \
  X(tan, tan(x), Any)                                                                              \
  X(asin, asin(x), Any)                                                                            \
  X(acos, acos(x), Any)                                                                            \
  X(atan, atan(x), Any)                                                                            \
  X(sinh, sinh(x), Any)                                                                            \
  X(cosh, cosh(x), Any)                                                                            \
  X(tanh, tanh(x), Any)                                                                            \
  X(asinh, asinh(x), Any)                                                                          \
  X(acosh, acosh(x), Any)                                                                          \
  X(atanh, atanh(x), Any)                                                                          \
  X(cbrt, cbrt(x), Any)                                                                            \
  X(erf, erf(x), Any)                                                                              \
  X(sigmoid, sigmoid(x), Tiny)                                                                     \
  X(softplus, softplus(x), Tiny)                                                                   \
  X(log_sigmoid, -softplus(-x), Tiny)                                                              \
  X(silu, silu(x), Tiny)                                                                           \
  X(mish, mish(x), Tiny)                                                                           \
  X(gelu, gelu(x), One)                                                                            \
  X(floor, floor(x), Any)                                                                          \
  X(ceil, ceil(x), Any)                                                                            \
  X(round, nearbyint(x), Any)                                                                      \
  X(trunc, trunc(x), Any)

} // namespace headrace::accuracy
