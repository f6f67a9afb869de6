// Activation functions, each a formula of one element.
#include "frontend/onnx/import/Operators.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace headrace::onnx {

using Formula = Value (*)(const Node &, ScalarMath &, Value);

template <Formula formula, Accepts accepts = Accepts::Floats>
static void activation(NodeContext &c) {
  c.result(c.map(c.input(0, accepts),
                 [&](ScalarMath &m, ValueRange x) { return formula(c.node, m, x[0]); }));
}

static Value relu(const Node &, ScalarMath &m, Value x) { return m.max(x, m.number(x, 0)); }

static Value sigmoid(const Node &, ScalarMath &m, Value x) {
  Value one = m.number(x, 1);
  return m.div(one, m.add(one, m.exp(m.neg(x))));
}

/// log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), whose exponential never overflows.
static Value softplus(const Node &, ScalarMath &m, Value x) {
  Value rest = m.op<math::Log1pOp>(m.exp(m.neg(m.abs(x))));
  return m.add(m.max(x, m.number(x, 0)), rest);
}

/// x * tanh(log(1 + exp(x))). With e = exp(-|x|), tanh(log(1 + exp(x))) is p / (p + q) where
/// p = 1 + 2e, q = 2e^2 for positive x and p = e^2 + 2e, q = 2 otherwise: one exponential, which
/// never overflows.
static Value mish(const Node &, ScalarMath &m, Value x) {
  Value one = m.number(x, 1), two = m.number(x, 2);
  Value e = m.exp(m.neg(m.abs(x)));
  Value positive = m.isPositive(x);
  Value p = m.select(positive, m.add(one, m.mul(two, e)), m.mul(e, m.add(e, two)));
  Value q = m.select(positive, m.mul(two, m.mul(e, e)), two);
  return m.mul(x, m.div(p, m.add(p, q)));
}

static Value softsign(const Node &, ScalarMath &m, Value x) {
  return m.div(x, m.add(m.number(x, 1), m.abs(x)));
}

static Value elu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1));
  return m.select(m.isNegative(x), m.mul(alpha, m.op<math::ExpM1Op>(x)), x);
}

static Value selu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1.67326319217681884765625f));
  Value gamma = m.number(x, node.getFloat("gamma", 1.05070102214813232421875f));
  Value negative = m.mul(alpha, m.op<math::ExpM1Op>(x));
  return m.mul(gamma, m.select(m.isPositive(x), x, negative));
}

static Value celu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1)), zero = m.number(x, 0);
  Value negative = m.mul(alpha, m.op<math::ExpM1Op>(m.div(x, alpha)));
  return m.add(m.max(x, zero), m.min(negative, zero));
}

static Value leakyRelu(const Node &node, ScalarMath &m, Value x) {
  Value slope = m.number(x, node.getFloat("alpha", 0.01f));
  return m.select(m.isNegative(x), m.mul(slope, x), x);
}

static Value thresholdedRelu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1));
  return m.select(m.compare(ScalarMath::Compare::Greater, x, alpha), x, m.number(x, 0));
}

static Value hardSigmoid(ScalarMath &m, Value x, double alpha, double beta) {
  Value line = m.add(m.mul(m.number(x, alpha), x), m.number(x, beta));
  return m.max(m.number(x, 0), m.min(m.number(x, 1), line));
}
static Value importedHardSigmoid(const Node &node, ScalarMath &m, Value x) {
  return hardSigmoid(m, x, node.getFloat("alpha", 0.2f), node.getFloat("beta", 0.5f));
}
static Value hardSwish(const Node &, ScalarMath &m, Value x) {
  return m.mul(x, hardSigmoid(m, x, 1.0 / 6, 0.5));
}

static Value gelu(const Node &node, ScalarMath &m, Value x) {
  Value inner;
  if (node.getString("approximate", "none") == "tanh") {
    Value cubic = m.mul(m.number(x, 0.044715), m.mul(x, m.mul(x, x)));
    Value scaled = m.mul(m.number(x, std::sqrt(2 / M_PI)), m.add(x, cubic));
    inner = m.op<math::TanhOp>(scaled);
  } else {
    inner = m.op<math::ErfOp>(m.mul(x, m.number(x, M_SQRT1_2)));
  }
  return m.mul(m.mul(m.number(x, 0.5), x), m.add(m.number(x, 1), inner));
}

static void importPRelu(NodeContext &c) {
  Value x = c.input(0, Accepts::Numbers), slope = c.input(1);
  c.checkSameType(0, 1);
  auto joined = broadcastShapes(c.shape(0), c.shape(1));
  if (!joined || !llvm::equal(*joined, c.shape(0)))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected a shape that broadcasts to {1}, found {2}",
           c.nameOfInput(1), c.text(c.shape(0)), c.text(c.shape(1)));
  c.result(c.map({x, slope}, [](ScalarMath &m, ValueRange v) {
    return m.select(m.isNegative(v[0]), m.mul(v[1], v[0]), v[0]);
  }));
}

/// The bounds were attributes before version 11; either may be absent.
static void importClip(NodeContext &c) {
  SmallVector<Value> inputs{c.input(0, Accepts::Numbers)};
  for (size_t i : {1, 2}) {
    if (!c.has(i))
      continue;
    c.checkSameType(0, i);
    if (constantValue(c.product(c.shape(i))) != 1)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected a scalar, found {1}", c.nameOfInput(i),
             c.text(c.shape(i)));
    inputs.push_back(c.reshape(c.input(i), {}));
  }
  bool hasLow = c.has(1), hasHigh = c.has(2);
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange v) {
    Value x = v[0];
    if (hasLow)
      x = m.max(x, v[1]);
    else if (c.node.find("min"))
      x = m.max(x, m.number(x, c.node.getFloat("min", 0)));
    if (hasHigh)
      x = m.min(x, v.back());
    else if (c.node.find("max"))
      x = m.min(x, m.number(x, c.node.getFloat("max", 0)));
    return x;
  }));
}

OperatorFamily activationOperators() {
  static const Operator table[] = {
      {"Relu", 7, activation<relu, Accepts::Numbers>},
      {"Sigmoid", 7, activation<sigmoid>},
      {"Softplus", 7, activation<softplus>},
      {"Softsign", 7, activation<softsign>},
      {"Mish", 18, activation<mish>},
      {"Elu", 7, activation<elu>},
      {"Selu", 7, activation<selu>},
      {"Celu", 12, activation<celu>},
      {"LeakyRelu", 7, activation<leakyRelu>},
      {"ThresholdedRelu", 10, activation<thresholdedRelu>},
      {"HardSigmoid", 7, activation<importedHardSigmoid>},
      {"HardSwish", 14, activation<hardSwish>},
      {"Gelu", 20, activation<gelu>},
      {"PRelu", 7, importPRelu},
      {"Clip", 7, importClip},
  };
  return table;
}

} // namespace headrace::onnx
