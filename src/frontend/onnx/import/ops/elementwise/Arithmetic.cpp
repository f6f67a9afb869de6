// Element-wise arithmetic of one, two or any number of tensors.
#include "dialect/scalar/Formulas.h"
#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

using Unary = Value (*)(ScalarMath &, Value);
using Binary = Value (*)(ScalarMath &, Value, Value);

template <Unary formula, Accepts accepts = Accepts::Floats> static void unary(NodeContext &c) {
  c.result(
      c.map(c.input(0, accepts), [](ScalarMath &m, ValueRange x) { return formula(m, x[0]); }));
}

template <Binary formula, Accepts accepts = Accepts::Numbers> static void binary(NodeContext &c) {
  Value lhs = c.input(0, accepts), rhs = alignedOperand(c, accepts);
  c.checkSameType(0, 1);
  c.result(c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return formula(m, x[0], x[1]); }));
}

static void importDiv(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Numbers),
        rhs = c.checkedDivisor(alignedOperand(c, Accepts::Numbers));
  c.checkSameType(0, 1);
  c.result(c.map({lhs, rhs}, [](ScalarMath &m, ValueRange x) { return m.div(x[0], x[1]); }));
}

/// The formula over the first two, then over that and the next, ...
template <Binary formula> static void variadic(NodeContext &c) {
  c.result(c.map(c.inputsOfOneType(Accepts::Numbers), [](ScalarMath &m, ValueRange x) {
    Value total = x[0];
    for (Value next : x.drop_front())
      total = formula(m, total, next);
    return total;
  }));
}

static Value add(ScalarMath &m, Value a, Value b) { return m.add(a, b); }
static Value sub(ScalarMath &m, Value a, Value b) { return m.sub(a, b); }
static Value mul(ScalarMath &m, Value a, Value b) { return m.mul(a, b); }
static Value max(ScalarMath &m, Value a, Value b) { return m.max(a, b); }
static Value min(ScalarMath &m, Value a, Value b) { return m.min(a, b); }
static Value neg(ScalarMath &m, Value x) { return m.neg(x); }
static Value abs(ScalarMath &m, Value x) { return m.abs(x); }
static Value reciprocal(ScalarMath &m, Value x) { return m.div(m.number(x, 1), x); }
template <class Op> static Value function(ScalarMath &m, Value x) { return m.op<Op>(x); }

static void importMean(NodeContext &c) {
  c.result(c.map(c.inputsOfOneType(Accepts::Floats), [](ScalarMath &m, ValueRange x) {
    Value total = x[0];
    for (Value next : x.drop_front())
      total = m.add(total, next);
    return m.div(total, m.number(total, static_cast<double>(x.size())));
  }));
}

/// The result has the divisor's sign unless `fmod` asks for C's rule, as it must for floats before
/// version 28.
static void importMod(NodeContext &c) {
  Value lhs = c.input(0, Accepts::Numbers), rhs = c.checkedDivisor(c.input(1));
  c.checkSameType(0, 1);
  bool isFloat = isa<FloatType>(c.type(0).getElementType());
  bool likeC = c.node.getInt("fmod", 0) != 0;
  if (isFloat && !likeC && c.opset < 28)
    c.fail(ErrorKind::InvalidModel, "expected attribute 'fmod' to be 1 for floats, got 0");
  c.result(c.map({lhs, rhs}, [&](ScalarMath &m, ValueRange x) {
    return likeC ? m.remainder(x[0], x[1]) : formulas::modulo(m, x[0], x[1]);
  }));
}

/// The exponent if it is one number known at import.
static std::optional<double> constantExponent(NodeContext &c) {
  const Tensor &exponent = c.constant(1);
  if (!exponent || exponent.elements() != 1)
    return std::nullopt;
  Tensor wide = exponent.converted(DType::F64);
  return *wide.as<double>();
}

static void importPow(NodeContext &c) {
  Value base = c.input(0, Accepts::Numbers);
  bool isFloat = isa<FloatType>(c.type(0).getElementType());
  auto exponent = constantExponent(c);
  // A lone number of higher rank would still raise the rank of the result.
  bool isPlain = exponent && c.rank(1) <= c.rank(0);
  if (isPlain && (exponent == 2 || exponent == 3))
    return c.result(c.map(base, [&](ScalarMath &m, ValueRange x) {
      Value square = m.mul(x[0], x[0]);
      return exponent == 2 ? square : m.mul(square, x[0]);
    }));
  if (isPlain && isFloat && exponent == 0.5)
    return c.result(
        c.map(base, [](ScalarMath &m, ValueRange x) { return m.op<math::SqrtOp>(x[0]); }));
  c.result(c.map({base, alignedOperand(c, Accepts::Numbers)},
                 [](ScalarMath &m, ValueRange x) { return formulas::power(m, x[0], x[1]); }));
}

OperatorFamily arithmeticOperators() {
  static const Operator table[] = {
      {"Add", 7, binary<add>, shapes::add},
      {"Sub", 7, binary<sub>, shapes::sub},
      {"Mul", 7, binary<mul>, shapes::mul},
      {"Div", 7, importDiv, shapes::div},
      {"Max", 7, variadic<max>, shapes::max},
      {"Min", 7, variadic<min>, shapes::min},
      {"Sum", 7, variadic<add>},
      {"Mean", 7, importMean},
      {"Mod", 10, importMod, shapes::mod},
      {"Pow", 7, importPow},
      {"Neg", 7, unary<neg, Accepts::Numbers>, shapes::neg},
      {"Abs", 7, unary<abs, Accepts::Numbers>},
      {"Sign", 9, unary<formulas::sign, Accepts::Numbers>},
      {"Reciprocal", 7, unary<reciprocal>},
#define HEADRACE_FUNCTION(Id, name, value, Operation, derivative, cost, growth, onnx, version,     \
                          script)                                                                  \
  {onnx, version, unary<function<Operation>>},
#include "runtime/scalar/Functions.def"
  };
  return table;
}

} // namespace headrace::onnx
