#include "frontend/script/CellFormula.h"

#include "dialect/scalar/Formulas.h"
#include "runtime/system/Error.h"

using namespace mlir;

namespace headrace::script {

static Value truth(ScalarMath &m, Value condition) {
  mlir::Type f64 = Float64Type::get(condition.getContext());
  return m.select(condition, m.numberOf(f64, 1), m.numberOf(f64, 0));
}

static Value isZero(ScalarMath &m, Value x) {
  return m.compare(ScalarMath::Compare::Equal, x, m.number(x, 0));
}

static Value isInfinite(ScalarMath &m, Value x) {
  Value infinity = m.number(x, std::numeric_limits<double>::infinity());
  return m.compare(ScalarMath::Compare::Equal, m.abs(x), infinity);
}

static Value isSet(ScalarMath &m, Value x) {
  return m.compare(ScalarMath::Compare::NotEqual, x, m.number(x, 0));
}

static Value power(ScalarMath &m, Value base, Value exponent, std::optional<double> constant) {
  if (constant == 2.0)
    return m.mul(base, base);
  if (constant == 1.0)
    return base;
  if (constant == -1.0)
    return m.div(m.number(base, 1), base);
  return m.op<math::PowFOp>(base, exponent);
}

/// Within a 64-bit integer, as SystemDS's functions of integers go through one.
static Value withinInteger(ScalarMath &m, Value x) {
  return m.min(m.max(x, m.number(x, -0x1p63)), m.number(x, 0x1p63));
}

static Value rounded(ScalarMath &m, Value x) {
  using Compare = ScalarMath::Compare;
  Value below = m.op<math::FloorOp>(x);
  Value up = m.compare(Compare::GreaterOrEqual, m.sub(x, below), m.number(x, 0.5));
  Value nearest = m.select(up, m.add(below, m.number(x, 1)), below);
  Value isNumber = m.compare(Compare::Equal, x, x);
  return m.select(isNumber, withinInteger(m, nearest), m.number(x, 0));
}

static Value wholeQuotient(ScalarMath &m, Value a, Value b) {
  Value quotient = m.div(a, b);
  Value infinity = m.number(a, std::numeric_limits<double>::infinity());
  Value finite = m.compare(ScalarMath::Compare::Less, m.abs(quotient), infinity);
  Value size = m.op<math::FloorOp>(m.add(m.abs(quotient), m.number(a, 0x1p-53)));
  Value whole = m.select(m.isNegative(quotient), m.sub(m.number(a, 0), size), size);
  return m.select(finite, withinInteger(m, whole), quotient);
}

static Value remainder(ScalarMath &m, Value a, Value b) {
  Value byZero = m.compare(ScalarMath::Compare::Equal, b, m.number(b, 0));
  Value rest = m.sub(a, m.mul(wholeQuotient(m, a, b), b));
  return m.select(byZero, m.number(b, std::numeric_limits<double>::quiet_NaN()), rest);
}

Value cellFormula(ScalarMath &m, CellFunction function, ValueRange x,
                  ArrayRef<std::optional<double>> constants) {
  using enum CellFunction;
  using Compare = ScalarMath::Compare;
  auto operand = [&](size_t i) { return i < x.size() ? x[i] : Value(); };
  Value a = operand(0), b = operand(1), c = operand(2);
  std::optional<double> exponent = constants.size() > 1 ? constants[1] : std::nullopt;
  switch (function) {
#define HEADRACE_FUNCTION(Id, name, value, Operation, ...)                                         \
  case Id:                                                                                         \
    return m.op<Operation>(a);
#include "runtime/scalar/Functions.def"
#define HEADRACE_CELL(Id, text, operands, value, formula, ...)                                     \
  case Id:                                                                                         \
    return formula;
#include "script/language/CellFunctions.def"
  }
  throw InternalError("a function of cells without a formula");
}

} // namespace headrace::script
