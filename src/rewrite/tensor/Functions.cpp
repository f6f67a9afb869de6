#include "rewrite/tensor/Functions.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::rewrite {

namespace {

using Limits = std::numeric_limits<double>;

// NaN stays NaN, on either side.
double maximum(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double minimum(double a, double b) { return a < b || std::isnan(a) ? a : b; }

constexpr ScalarFunction functions[] = {
#define HEADRACE_FUNCTION(Id, called, value, ...)                                                  \
  {.name = #called, .unary = [](double x) -> double { return value; }},
#include "runtime/scalar/Functions.def"
    {.name = "relu", .unary = [](double x) { return maximum(x, 0); }},
    {.name = "sigmoid", .unary = [](double x) { return 1 / (1 + std::exp(-x)); }},
    {.name = "neg", .unary = [](double x) { return -x; }},
    {.name = "square", .unary = [](double x) { return x * x; }},
    {.name = "add", .binary = [](double a, double b) { return a + b; }, .reorders = true},
    {.name = "mul",
     .binary = [](double a, double b) { return a * b; },
     .reorders = true,
     .neutral = 1},
    {.name = "max", .binary = maximum, .reorders = true, .neutral = -Limits::infinity()},
    {.name = "min", .binary = minimum, .reorders = true, .neutral = Limits::infinity()},
    {.name = "sub", .binary = [](double a, double b) { return a - b; }},
    {.name = "div", .binary = [](double a, double b) { return a / b; }},
};

} // namespace

std::span<const ScalarFunction> scalarFunctions() { return functions; }

const ScalarFunction *scalarFunction(std::string_view name) {
  auto found = std::ranges::find(functions, name, &ScalarFunction::name);
  return found == std::end(functions) ? nullptr : &*found;
}

} // namespace headrace::rewrite
