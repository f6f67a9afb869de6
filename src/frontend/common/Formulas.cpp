#include "frontend/common/Formulas.h"

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

/// x * tanh(log(1 + exp(x))). With e = exp(-|x|), tanh(log(1 + exp(x))) is p / (p + q) where
/// p = 1 + 2e, q = 2e^2 for positive x and p = e^2 + 2e, q = 2 otherwise: one exponential, which
/// never overflows.
Value mish(ScalarMath &m, Value x) {
  Value one = m.number(x, 1), two = m.number(x, 2);
  Value e = m.exp(m.neg(m.abs(x)));
  Value positive = m.isPositive(x);
  Value p = m.select(positive, m.add(one, m.mul(two, e)), m.mul(e, m.add(e, two)));
  Value q = m.select(positive, m.mul(two, m.mul(e, e)), two);
  return m.mul(x, m.div(p, m.add(p, q)));
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
    return m.integerPower(base, m.convert(exponent, type));
  Value raised = m.op<math::PowFOp>(m.convert(base, exponent.getType()), exponent);
  return m.convert(raised, type);
}

Value modulo(ScalarMath &m, Value a, Value b) {
  Value rest = m.remainder(a, b);
  Value differs = m.op<arith::XOrIOp>(m.isNegative(rest), m.isNegative(b));
  Value isZero = m.compare(ScalarMath::Compare::Equal, rest, m.number(rest, 0));
  return m.select(isZero, rest, m.select(differs, m.add(rest, b), rest));
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

Value rounded(ScalarMath &m, Value quotient, bool down) {
  if (down)
    return m.op<math::FloorOp>(quotient);
  return m.op<math::TruncOp>(quotient);
}

Value floorDivide(ScalarMath &m, ValueRange x) {
  Value quotient = m.div(x[0], x[1]);
  if (isa<FloatType>(quotient.getType()))
    return rounded(m, quotient, /*down=*/true);
  Value rest = m.remainder(x[0], x[1]);
  Value differs = m.op<arith::XOrIOp>(m.isNegative(rest), m.isNegative(x[1]));
  Value isZero = m.compare(Compare::Equal, rest, m.number(rest, 0));
  Value lower = m.sub(quotient, m.number(quotient, 1));
  return m.select(isZero, quotient, m.select(differs, lower, quotient));
}

Value truncateDivide(ScalarMath &m, ValueRange x) {
  Value quotient = m.div(x[0], x[1]);
  return isa<FloatType>(quotient.getType()) ? rounded(m, quotient, /*down=*/false) : quotient;
}

Value isInfinite(ScalarMath &m, ValueRange x) {
  return m.compare(Compare::Equal, m.abs(x[0]), m.number(x[0], INFINITY));
}

Value negate(ScalarMath &m, ValueRange x) {
  // All bits: a boolean has one.
  return m.op<arith::XOrIOp>(x[0], m.number(x[0], x[0].getType().isInteger(1) ? 1 : -1));
}

Value unordered(ScalarMath &m, ValueRange x) {
  return m.op<arith::CmpFOp>(arith::CmpFPredicate::UNO, x[0], x[0]);
}

constexpr NamedFormula kFormulas[] = {
    {"neg", 1, false, [](ScalarMath &m, ValueRange x) { return m.neg(x[0]); }},
    {"abs", 1, false, [](ScalarMath &m, ValueRange x) { return m.abs(x[0]); }},
    {"sign", 1, false, unary<formulas::sign>},
    {"relu", 1, false, unary<formulas::relu>},
    {"not", 1, false, negate},
    {"square", 1, false, [](ScalarMath &m, ValueRange x) { return m.mul(x[0], x[0]); }},
    {"reciprocal", 1, true,
     [](ScalarMath &m, ValueRange x) { return m.div(m.number(x[0], 1), x[0]); }},
    {"sqrt", 1, true, apply<math::SqrtOp>},
    {"rsqrt", 1, true,
     [](ScalarMath &m, ValueRange x) {
       return m.div(m.number(x[0], 1), m.op<math::SqrtOp>(x[0]));
     }},
    {"exp", 1, true, apply<math::ExpOp>},
    {"exp2", 1, true, apply<math::Exp2Op>},
    {"expm1", 1, true, apply<math::ExpM1Op>},
    {"log", 1, true, apply<math::LogOp>},
    {"log1p", 1, true, apply<math::Log1pOp>},
    {"log2", 1, true, apply<math::Log2Op>},
    {"log10", 1, true, apply<math::Log10Op>},
    {"floor", 1, true, apply<math::FloorOp>},
    {"ceil", 1, true, apply<math::CeilOp>},
    {"round", 1, true, apply<math::RoundEvenOp>},
    {"trunc", 1, true, apply<math::TruncOp>},
    {"sin", 1, true, apply<math::SinOp>},
    {"cos", 1, true, apply<math::CosOp>},
    {"tan", 1, true, apply<math::TanOp>},
    {"asin", 1, true, apply<math::AsinOp>},
    {"acos", 1, true, apply<math::AcosOp>},
    {"atan", 1, true, apply<math::AtanOp>},
    {"sinh", 1, true, apply<math::SinhOp>},
    {"cosh", 1, true, apply<math::CoshOp>},
    {"tanh", 1, true, apply<math::TanhOp>},
    {"erf", 1, true, apply<math::ErfOp>},
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
    {"floor_divide", 2, false, floorDivide, true},
    {"truncate_divide", 2, false, truncateDivide, true},
    {"modulo", 2, false, binary<formulas::modulo>, true},
    {"remainder", 2, false, [](ScalarMath &m, ValueRange x) { return m.remainder(x[0], x[1]); },
     true},
    {"power", 2, false, binary<formulas::power>},
    {"max", 2, false, [](ScalarMath &m, ValueRange x) { return m.max(x[0], x[1]); }},
    {"min", 2, false, [](ScalarMath &m, ValueRange x) { return m.min(x[0], x[1]); }},
    {"atan2", 2, true, apply<math::Atan2Op>},
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
  const auto *found =
      llvm::find_if(kFormulas, [&](const NamedFormula &formula) { return formula.name == name; });
  return found == std::end(kFormulas) ? nullptr : found;
}

} // namespace headrace
