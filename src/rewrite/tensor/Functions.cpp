#include "rewrite/tensor/Functions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace headrace::rewrite {

namespace {

using Limits = std::numeric_limits<double>;

// NaN stays NaN, on either side.
double maximum(double a, double b) { return a > b || std::isnan(a) ? a : b; }
double minimum(double a, double b) { return a < b || std::isnan(a) ? a : b; }

constexpr std::array<ScalarFunction, 12> functions = {{
    {.name = "relu", .unary = [](double x) { return maximum(x, 0); }},
    {.name = "tanh", .unary = [](double x) { return std::tanh(x); }},
    {.name = "exp", .unary = [](double x) { return std::exp(x); }},
    {.name = "sigmoid", .unary = [](double x) { return 1 / (1 + std::exp(-x)); }},
    {.name = "negate", .unary = [](double x) { return -x; }},
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
}};

} // namespace

std::span<const ScalarFunction> scalarFunctions() { return functions; }

const ScalarFunction *scalarFunction(std::string_view name) {
  auto found = std::ranges::find(functions, name, &ScalarFunction::name);
  return found == functions.end() ? nullptr : &*found;
}

} // namespace headrace::rewrite
