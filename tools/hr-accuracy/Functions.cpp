#include "Functions.h"

#include <cmath>

namespace headrace::accuracy {
namespace {

template <class T> T sigmoid(T x) { return 1 / (1 + std::exp(-x)); }
template <class T> T softplus(T x) {
  return std::fmax(x, T(0)) + std::log1p(std::exp(-std::fabs(x)));
}
template <class T> T withNan(T x, T value) { return std::isnan(x) ? x : value; }
template <class T> T silu(T x) { return x == -INFINITY ? std::nan("") : x * sigmoid(x); }
template <class T> T mish(T x) {
  return x == -INFINITY ? std::nan("") : x * std::tanh(softplus(x));
}
template <class T> T gelu(T x) {
  return x == -INFINITY ? std::nan("") : x * std::erfc(-x * std::sqrt(T(0.5))) / 2;
}

#define HEADRACE_FUNCTION(name, formula, ...)                                                      \
  Function {                                                                                       \
    #name, [](double x) -> double { return formula; },                                             \
        [](long double x) -> long double { return formula; }, ##__VA_ARGS__                        \
  }

constexpr Function kFunctions[] = {
    HEADRACE_FUNCTION(exp, std::exp(x)),
    HEADRACE_FUNCTION(exp2, std::exp2(x)),
    HEADRACE_FUNCTION(expm1, std::expm1(x)),
    HEADRACE_FUNCTION(log, std::log(x)),
    HEADRACE_FUNCTION(log1p, std::log1p(x)),
    HEADRACE_FUNCTION(log2, std::log2(x)),
    HEADRACE_FUNCTION(log10, std::log10(x)),
    HEADRACE_FUNCTION(sqrt, std::sqrt(x)),
    HEADRACE_FUNCTION(rsqrt, 1 / std::sqrt(x)),
    HEADRACE_FUNCTION(reciprocal, 1 / x),
    HEADRACE_FUNCTION(sin, std::sin(x)),
    HEADRACE_FUNCTION(cos, std::cos(x)),
    HEADRACE_FUNCTION(tan, std::tan(x)),
    HEADRACE_FUNCTION(asin, std::asin(x)),
    HEADRACE_FUNCTION(acos, std::acos(x)),
    HEADRACE_FUNCTION(atan, std::atan(x)),
    HEADRACE_FUNCTION(sinh, std::sinh(x)),
    HEADRACE_FUNCTION(cosh, std::cosh(x)),
    HEADRACE_FUNCTION(tanh, std::tanh(x)),
    HEADRACE_FUNCTION(erf, std::erf(x)),
    HEADRACE_FUNCTION(sigmoid, sigmoid(x), Smallest::Tiny),
    HEADRACE_FUNCTION(softplus, withNan(x, softplus(x)), Smallest::Tiny),
    HEADRACE_FUNCTION(log_sigmoid, -withNan(x, softplus(-x)), Smallest::Tiny),
    HEADRACE_FUNCTION(silu, silu(x), Smallest::Tiny),
    HEADRACE_FUNCTION(mish, mish(x), Smallest::Tiny),
    HEADRACE_FUNCTION(gelu, gelu(x), Smallest::One),
    HEADRACE_FUNCTION(floor, std::floor(x)),
    HEADRACE_FUNCTION(ceil, std::ceil(x)),
    HEADRACE_FUNCTION(round, std::nearbyint(x)),
    HEADRACE_FUNCTION(trunc, std::trunc(x)),
};

#define HEADRACE_FUNCTION2(name, formula)                                                          \
  Function2 {                                                                                      \
    #name, [](double x, double y) -> double { return formula; },                                   \
        [](long double x, long double y) -> long double { return formula; }                        \
  }

constexpr Function2 kFunctions2[] = {
    HEADRACE_FUNCTION2(power, std::pow(x, y)),
    HEADRACE_FUNCTION2(atan2, std::atan2(x, y)),
    HEADRACE_FUNCTION2(remainder, std::fmod(x, y)),
    HEADRACE_FUNCTION2(div, x / y),
};

} // namespace

std::span<const Function> functions() { return kFunctions; }
std::span<const Function2> functions2() { return kFunctions2; }

} // namespace headrace::accuracy
