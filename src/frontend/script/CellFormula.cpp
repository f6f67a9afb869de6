#include "frontend/script/CellFormula.h"

#include "runtime/system/Error.h"

using namespace mlir;

namespace headrace::script {

static Value truth(ScalarMath &m, Value condition) {
  mlir::Type f64 = Float64Type::get(condition.getContext());
  return m.select(condition, m.numberOf(f64, 1), m.numberOf(f64, 0));
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

static Value sign(ScalarMath &m, Value x) {
  Value negative = m.select(m.isNegative(x), m.number(x, -1), x);
  return m.select(m.isPositive(x), m.number(x, 1), negative);
}

/// Within a 64-bit integer, as SystemDS's functions of whole numbers go through one.
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
  auto compare = [&](Compare kind) { return truth(m, m.compare(kind, x[0], x[1])); };
  switch (function) {
  case Negate:
    return m.neg(x[0]);
  case Not:
    return truth(m, m.compare(Compare::Equal, x[0], m.number(x[0], 0)));
  case Abs:
    return m.abs(x[0]);
  case Sqrt:
    return m.op<math::SqrtOp>(x[0]);
  case Exp:
    return m.exp(x[0]);
  case Log:
    return m.op<math::LogOp>(x[0]);
  case Sign:
    return sign(m, x[0]);
  case Round:
    return rounded(m, x[0]);
  case Floor:
    return m.op<math::FloorOp>(x[0]);
  case Ceil:
    return m.op<math::CeilOp>(x[0]);
  case Sin:
    return m.op<math::SinOp>(x[0]);
  case Cos:
    return m.op<math::CosOp>(x[0]);
  case Tan:
    return m.op<math::TanOp>(x[0]);
  case Asin:
    return m.op<math::AsinOp>(x[0]);
  case Acos:
    return m.op<math::AcosOp>(x[0]);
  case Atan:
    return m.op<math::AtanOp>(x[0]);
  case Sinh:
    return m.op<math::SinhOp>(x[0]);
  case Cosh:
    return m.op<math::CoshOp>(x[0]);
  case Tanh:
    return m.op<math::TanhOp>(x[0]);
  case IsNan:
    return truth(m, m.compare(Compare::NotEqual, x[0], x[0]));
  case IsInfinite:
    return truth(m, m.compare(Compare::Equal, m.abs(x[0]),
                              m.number(x[0], std::numeric_limits<double>::infinity())));
  case Power:
    return power(m, x[0], x[1], constants[1]);
  case Modulus:
    return remainder(m, x[0], x[1]);
  case IntegerDivide:
    return wholeQuotient(m, x[0], x[1]);
  case Multiply:
    return m.mul(x[0], x[1]);
  case Divide:
    return m.div(x[0], x[1]);
  case Add:
    return m.add(x[0], x[1]);
  case Subtract:
    return m.sub(x[0], x[1]);
  case Less:
    return compare(Compare::Less);
  case LessEqual:
    return compare(Compare::LessOrEqual);
  case Greater:
    return compare(Compare::Greater);
  case GreaterEqual:
    return compare(Compare::GreaterOrEqual);
  case Equal:
    return compare(Compare::Equal);
  case NotEqual:
    return compare(Compare::NotEqual);
  case And:
    return truth(m, m.op<arith::AndIOp>(isSet(m, x[0]), isSet(m, x[1])));
  case Or:
    return truth(m, m.op<arith::OrIOp>(isSet(m, x[0]), isSet(m, x[1])));
  case Xor:
    return truth(m, m.op<arith::XOrIOp>(isSet(m, x[0]), isSet(m, x[1])));
  case Min:
    return m.min(x[0], x[1]);
  case Max:
    return m.max(x[0], x[1]);
  case LogBase:
    return m.div(m.op<math::LogOp>(x[0]), m.op<math::LogOp>(x[1]));
  case IfElse:
    return m.select(isSet(m, x[0]), x[1], x[2]);
  }
  throw InternalError("a function of cells without a formula");
}

} // namespace headrace::script
