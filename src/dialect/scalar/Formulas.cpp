#include "dialect/scalar/Formulas.h"

#include "dialect/scalar/SpecialFormulas.h"

#include <cmath>

using namespace mlir;

namespace headrace {

namespace formulas {

Value relu(ScalarMath &m, Value x) { return m.max(x, m.number(x, 0)); }

Value sigmoid(ScalarMath &m, Value x) {
  Value one = m.number(x, 1);
  return m.div(one, m.add(one, m.exp(m.neg(x))));
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), whose exponential never overflows.
Value softplus(ScalarMath &m, Value x) {
  Value rest = m.op<math::Log1pOp>(m.exp(m.neg(m.abs(x))));
  return m.add(m.max(x, m.number(x, 0)), rest);
}

/// p / (p + q) where p = 1 + 2t, q = 2t^2 for positive x and p = t^2 + 2t, q = 2 otherwise.
Value tanhOfSoftplus(ScalarMath &m, Value x, Value t) {
  Value one = m.number(x, 1), two = m.number(x, 2);
  Value positive = m.compare(ScalarMath::Compare::GreaterOrEqual, x, m.number(x, 0));
  Value p = m.select(positive, m.add(one, m.mul(two, t)), m.mul(t, m.add(t, two)));
  Value q = m.select(positive, m.mul(two, m.mul(t, t)), two);
  return m.div(p, m.add(p, q));
}

Value mish(ScalarMath &m, Value x) {
  return m.mul(x, tanhOfSoftplus(m, x, m.exp(m.neg(m.abs(x)))));
}

Value softsign(ScalarMath &m, Value x) { return m.div(x, m.add(m.number(x, 1), m.abs(x))); }

Value elu(ScalarMath &m, Value x, Value alpha) {
  Value negative = m.mul(alpha, m.op<math::ExpM1Op>(x));
  return m.select(m.isNegative(x), negative, x);
}

Value leakyRelu(ScalarMath &m, Value x, Value slope) {
  return m.select(m.isNegative(x), m.mul(slope, x), x);
}

Value hardSigmoid(ScalarMath &m, Value x, double alpha, double beta) {
  Value line = m.add(m.mul(m.number(x, alpha), x), m.number(x, beta));
  return m.max(m.number(x, 0), m.min(m.number(x, 1), line));
}

Value hardSwish(ScalarMath &m, Value x) { return m.mul(x, hardSigmoid(m, x, 1.0 / 6, 0.5)); }

Value gelu(ScalarMath &m, Value x, bool byTanh) {
  Value inner;
  if (byTanh) {
    Value cubic = m.mul(m.number(x, 0.044715), m.mul(x, m.mul(x, x)));
    Value scaled = m.mul(m.number(x, std::sqrt(2 / M_PI)), m.add(x, cubic));
    inner = m.op<math::TanhOp>(scaled);
  } else {
    inner = m.op<math::ErfOp>(m.mul(x, m.number(x, M_SQRT1_2)));
  }
  return m.mul(m.mul(m.number(x, 0.5), x), m.add(m.number(x, 1), inner));
}

Value sign(ScalarMath &m, Value x) {
  Value negative = m.select(m.isNegative(x), m.number(x, -1), x);
  return m.select(m.isPositive(x), m.number(x, 1), negative);
}

Value power(ScalarMath &m, Value base, Value exponent) {
  Type type = base.getType();
  bool floatBase = isa<FloatType>(type), floatExponent = isa<FloatType>(exponent.getType());
  if (floatBase)
    return m.op<math::PowFOp>(base, m.convert(exponent, type));
  if (!floatExponent)
    return m.integerPower(base, type.isUnsignedInteger() || exponent.getType().isUnsignedInteger()
                                    ? exponent
                                    : m.convert(exponent, type));
  Value raised = m.op<math::PowFOp>(m.convert(base, exponent.getType()), exponent);
  return m.convert(raised, type);
}

/// Whether what is left of a division has another sign than the divisor.
static Value pointsAway(ScalarMath &m, Value rest, Value divisor) {
  Value differs = m.op<arith::XOrIOp>(m.isNegative(rest), m.isNegative(divisor));
  Value isLeft = m.compare(ScalarMath::Compare::NotEqual, rest, m.number(rest, 0));
  return m.op<arith::AndIOp>(differs, isLeft);
}

Value floorDivide(ScalarMath &m, Value a, Value b) {
  Value quotient = m.div(a, b);
  if (isa<FloatType>(quotient.getType()))
    return m.op<math::FloorOp>(quotient);
  Value lower = m.sub(quotient, m.number(quotient, 1));
  return m.select(pointsAway(m, m.remainder(a, b), b), lower, quotient);
}

Value modulo(ScalarMath &m, Value a, Value b) {
  Value rest = m.remainder(a, b);
  return m.select(pointsAway(m, rest, b), m.add(rest, b), rest);
}

} // namespace formulas

namespace {

using Unary = Value (*)(ScalarMath &, Value);
using Binary = Value (*)(ScalarMath &, Value, Value);
using Compare = ScalarMath::Compare;

template <class Op> Value apply(ScalarMath &m, ValueRange x) { return m.op<Op>(x); }
template <Unary formula> Value unary(ScalarMath &m, ValueRange x) { return formula(m, x[0]); }
template <Binary formula> Value binary(ScalarMath &m, ValueRange x) {
  return formula(m, x[0], x[1]);
}
template <Compare kind> Value compare(ScalarMath &m, ValueRange x) {
  return m.compare(kind, x[0], x[1]);
}

Value truncateDivide(ScalarMath &m, ValueRange x) {
  Value quotient = m.div(x[0], x[1]);
  return isa<FloatType>(quotient.getType()) ? m.op<math::TruncOp>(quotient) : quotient;
}

Value isInfinite(ScalarMath &m, ValueRange x) {
  return m.compare(Compare::Equal, m.abs(x[0]), m.number(x[0], INFINITY));
}

/// sqrt(a^2 + b^2), whose squares neither overflow nor vanish: the greater of both times
/// sqrt(1 + q^2), q being the quotient of both. It is infinite if either is, whatever the other.
Value hypotenuse(ScalarMath &m, ValueRange x) {
  Value a = m.abs(x[0]), b = m.abs(x[1]), zero = m.number(a, 0), one = m.number(a, 1);
  Value greater = m.max(a, b);
  Value divisor = m.select(m.compare(Compare::Equal, greater, zero), one, greater);
  Value quotient = m.div(m.min(a, b), divisor);
  Value root = m.op<math::SqrtOp>(m.add(one, m.mul(quotient, quotient)));
  Value infinite = m.op<arith::OrIOp>(isInfinite(m, x[0]), isInfinite(m, x[1]));
  return m.select(infinite, m.number(a, INFINITY), m.mul(greater, root));
}

Value negate(ScalarMath &m, ValueRange x) {
  // All bits: a boolean has one.
  return m.op<arith::XOrIOp>(x[0], m.number(x[0], x[0].getType().isInteger(1) ? 1 : -1));
}

Value unordered(ScalarMath &m, ValueRange x) {
  return m.op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
}

constexpr NamedFormula kFormulas[] = {
#define HEADRACE_FUNCTION(Id, name, value, Operation, ...) {#name, 1, true, apply<Operation>},
#include "runtime/scalar/Functions.def"
    {"neg", 1, false, [](ScalarMath &m, ValueRange x) { return m.neg(x[0]); }},
    {"abs", 1, false, [](ScalarMath &m, ValueRange x) { return m.abs(x[0]); }},
    {"sign", 1, false, unary<formulas::sign>},
    {"relu", 1, false, unary<formulas::relu>},
    {"not", 1, false, negate},
    {"square", 1, false, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[0]); }},
    {"reciprocal", 1, true,
     [](ScalarMath &m, ValueRange x) { return m.div(m.number(x[0], 1), x[0]); }},
    {"rsqrt", 1, true,
     [](ScalarMath &m, ValueRange x) {
       return m.div(m.number(x[0], 1), m.op<math::SqrtOp>(x[0]));
     }},
    {"sigmoid", 1, true, unary<formulas::sigmoid>},
    {"softplus", 1, true, unary<formulas::softplus>},
    {"log_sigmoid", 1, true,
     [](ScalarMath &m, ValueRange x) { return m.neg(formulas::softplus(m, m.neg(x[0]))); }},
    {"silu", 1, true,
     [](ScalarMath &m, ValueRange x) { return m.mul(x[0], formulas::sigmoid(m, x[0])); }},
    {"mish", 1, true, unary<formulas::mish>},
    {"softsign", 1, true, unary<formulas::softsign>},
    {"hard_sigmoid", 1, true,
     [](ScalarMath &m, ValueRange x) { return formulas::hardSigmoid(m, x[0], 1.0 / 6, 0.5); }},
    {"hard_swish", 1, true, unary<formulas::hardSwish>},
    {"gelu", 1, true, [](ScalarMath &m, ValueRange x) { return formulas::gelu(m, x[0], false); }},
    {"gelu_tanh", 1, true,
     [](ScalarMath &m, ValueRange x) { return formulas::gelu(m, x[0], true); }},
    {"is_nan", 1, true, unordered},
    {"is_inf", 1, true, isInfinite},
    {"add", 2, false, [](ScalarMath &m, ValueRange x) { return m.add(x[0], x[1]); }},
    {"sub", 2, false, [](ScalarMath &m, ValueRange x) { return m.sub(x[0], x[1]); }},
    {"mul", 2, false, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[1]); }},
    {"div", 2, false, [](ScalarMath &m, ValueRange x) { return m.div(x[0], x[1]); }, true},
    {"floor_divide", 2, false, binary<formulas::floorDivide>, true},
    {"truncate_divide", 2, false, truncateDivide, true},
    {"modulo", 2, false, binary<formulas::modulo>, true},
    {"remainder", 2, false, [](ScalarMath &m, ValueRange x) { return m.remainder(x[0], x[1]); },
     true},
    {"power", 2, false, binary<formulas::power>},
    {"max", 2, false, [](ScalarMath &m, ValueRange x) { return m.max(x[0], x[1]); }},
    {"min", 2, false, [](ScalarMath &m, ValueRange x) { return m.min(x[0], x[1]); }},
    {"atan2", 2, true, apply<math::Atan2Op>},
    {"hypot", 2, true, hypotenuse},
    {"equal", 2, false, compare<Compare::Equal>},
    {"not_equal", 2, false, compare<Compare::NotEqual>},
    {"less", 2, false, compare<Compare::Less>},
    {"less_equal", 2, false, compare<Compare::LessOrEqual>},
    {"greater", 2, false, compare<Compare::Greater>},
    {"greater_equal", 2, false, compare<Compare::GreaterOrEqual>},
    {"and", 2, false, apply<arith::AndIOp>},
    {"or", 2, false, apply<arith::OrIOp>},
    {"xor", 2, false, apply<arith::XOrIOp>},
    {"elu", 2, true, binary<formulas::elu>},
    {"leaky_relu", 2, true, binary<formulas::leakyRelu>},
    {"select", 3, false, [](ScalarMath &m, ValueRange x) { return m.select(x[0], x[1], x[2]); }},
};

} // namespace

const NamedFormula *findFormula(StringRef name) {
  for (ArrayRef<NamedFormula> table : {ArrayRef(kFormulas), specialFormulas()})
    for (const NamedFormula &formula : table)
      if (formula.name == name)
        return &formula;
  return nullptr;
}

} // namespace headrace
