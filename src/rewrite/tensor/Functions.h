// The functions of scalars that map, zip and reduce take by name: the elementary ones of
// runtime/scalar/Functions.def, and those that stand here. Names are those of
// dialect/scalar/Formulas.
#pragma once

#include <span>
#include <string_view>

namespace headrace::rewrite {

struct ScalarFunction {
  std::string_view name;
  double (*unary)(double) = nullptr;
  double (*binary)(double, double) = nullptr;
  /// Of the binary ones: whether the order does not matter, in either sense. Reductions take these.
  bool reorders = false;
  /// Of those: what leaves any other value as it is.
  double neutral = 0;
};

std::span<const ScalarFunction> scalarFunctions();
/// Null if there is none of that name.
const ScalarFunction *scalarFunction(std::string_view name);

} // namespace headrace::rewrite
