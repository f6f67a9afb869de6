// Functions of scalars that front ends share: activations and the like, written so that no
// exponential overflows and the compiler recognises them.
#pragma once

#include "dialect/scalar/ScalarMath.h"

namespace headrace {

namespace formulas {
using mlir::Value;

Value relu(ScalarMath &m, Value x);
Value sigmoid(ScalarMath &m, Value x);
Value softplus(ScalarMath &m, Value x);
Value mish(ScalarMath &m, Value x);
Value softsign(ScalarMath &m, Value x);
Value elu(ScalarMath &m, Value x, Value alpha);
Value leakyRelu(ScalarMath &m, Value x, Value slope);
Value hardSigmoid(ScalarMath &m, Value x, double alpha, double beta);
Value hardSwish(ScalarMath &m, Value x);
/// x * Phi(x), or its approximation by a hyperbolic tangent.
Value gelu(ScalarMath &m, Value x, bool byTanh);
/// Zero and NaN are their own sign.
Value sign(ScalarMath &m, Value x);
/// base^exponent, in the base's type.
Value power(ScalarMath &m, Value base, Value exponent);
/// Rounded down.
Value floorDivide(ScalarMath &m, Value a, Value b);
/// The remainder of a division rounded down: it has the divisor's sign.
Value modulo(ScalarMath &m, Value a, Value b);
/// tanh(log(1 + exp(x))), t being exp(-|x|): one exponential, which never overflows.
Value tanhOfSoftplus(ScalarMath &m, Value x, Value t);
} // namespace formulas

/// A function of scalars by its name, such as "gelu".
struct NamedFormula {
  llvm::StringLiteral name;
  size_t operands;
  /// Whether integers have no such function.
  bool floatsOnly;
  mlir::Value (*write)(ScalarMath &, mlir::ValueRange);
  /// Whether the second operand must not be 0 if it is an integer.
  bool divides = false;
};

/// Null if there is no such function.
const NamedFormula *findFormula(llvm::StringRef name);

} // namespace headrace
