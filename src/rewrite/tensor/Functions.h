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
  /// Whether a binary function is commutative and associative, as reductions require.
  bool reorders = false;
  /// The neutral element of such a function.
  double neutral = 0;
};

std::span<const ScalarFunction> scalarFunctions();
/// Null if there is none of that name.
const ScalarFunction *scalarFunction(std::string_view name);

} // namespace headrace::rewrite
