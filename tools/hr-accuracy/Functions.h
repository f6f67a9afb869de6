// The math functions and their exact values.
#pragma once

#include <span>
#include <string_view>

namespace headrace::accuracy {

/// Results below this magnitude count as if they had it: if the formula itself, not a function
/// in it, loses digits.
enum class Smallest {
  Any,  // none: relative errors down to subnormal numbers
  Tiny, // far below what matters, if an exponential has overflown or is subnormal
  One,  // absolute errors
};

/// A function of one number by its name among the formulas that front ends share.
struct Function {
  std::string_view name;
  /// Exact to far less than a unit of f32, and of f64.
  double (*of32)(double);
  long double (*of64)(long double);
  Smallest smallest = Smallest::Any;
};

std::span<const Function> functions();

/// A function of two numbers.
struct Function2 {
  std::string_view name;
  double (*of32)(double, double);
  long double (*of64)(long double, long double);
};

std::span<const Function2> functions2();

} // namespace headrace::accuracy
