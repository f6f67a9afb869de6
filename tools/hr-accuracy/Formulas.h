// Functions composed of others, over any type of numbers that has the math functions: double,
// long double, or four doubles at a time. Whoever includes this brings those in first.
#pragma once

#include <cmath>

namespace headrace::accuracy {
namespace { // of its own in every unit, since each is compiled for another CPU

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
} // namespace headrace::accuracy
