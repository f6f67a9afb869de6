// Activation functions, each a formula of one element.
#include "dialect/scalar/Formulas.h"
#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

using Formula = Value (*)(const Node &, ScalarMath &, Value);

template <Formula formula, Accepts accepts = Accepts::Floats>
static void activation(NodeContext &c) {
  c.result(c.map(c.input(0, accepts),
                 [&](ScalarMath &m, ValueRange x) { return formula(c.node, m, x[0]); }));
}

template <Value (*formula)(ScalarMath &, Value)>
static Value plain(const Node &, ScalarMath &m, Value x) {
  return formula(m, x);
}

static Value elu(const Node &node, ScalarMath &m, Value x) {
  return formulas::elu(m, x, m.number(x, node.getFloat("alpha", 1)));
}

/// Before version 6 the constants had fewer digits.
static void importSelu(NodeContext &c) {
  bool isFirst = c.opset < 6;
  double alpha = c.node.getFloat("alpha", isFirst ? 1.6732f : 1.67326319217681884765625f);
  double gamma = c.node.getFloat("gamma", isFirst ? 1.0507f : 1.05070102214813232421875f);
  c.result(c.map(c.input(0, Accepts::Floats), [&](ScalarMath &m, ValueRange v) {
    Value x = v[0], negative = m.mul(m.number(x, alpha), m.op<math::ExpM1Op>(x));
    return m.mul(m.number(x, gamma), m.select(m.isPositive(x), x, negative));
  }));
}

static Value celu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1)), zero = m.number(x, 0);
  Value negative = m.mul(alpha, m.op<math::ExpM1Op>(m.div(x, alpha)));
  return m.add(m.max(x, zero), m.min(negative, zero));
}

static Value leakyRelu(const Node &node, ScalarMath &m, Value x) {
  return formulas::leakyRelu(m, x, m.number(x, node.getFloat("alpha", 0.01f)));
}

static Value thresholdedRelu(const Node &node, ScalarMath &m, Value x) {
  Value alpha = m.number(x, node.getFloat("alpha", 1));
  return m.select(m.compare(ScalarMath::Compare::Greater, x, alpha), x, m.number(x, 0));
}

static Value hardSigmoid(const Node &node, ScalarMath &m, Value x) {
  return formulas::hardSigmoid(m, x, node.getFloat("alpha", 0.2f), node.getFloat("beta", 0.5f));
}

static Value swish(const Node &node, ScalarMath &m, Value x) {
  return m.mul(x, formulas::sigmoid(m, m.mul(x, m.number(x, node.getFloat("alpha", 1)))));
}

/// Numbers near zero become zero, others come nearer by the bias.
static Value shrink(const Node &node, ScalarMath &m, Value x) {
  Value bias = m.convert(m.numberOf(Float32Type::get(x.getContext()), node.getFloat("bias", 0)),
                         x.getType());
  float threshold = node.getFloat("lambd", 0.5f);
  Type exact = isa<FloatType>(x.getType()) ? x.getType() : Type(Float64Type::get(x.getContext()));
  Value number = m.convert(x, exact);
  Value high = m.compare(ScalarMath::Compare::Greater, number, m.number(number, threshold));
  Value low = m.compare(ScalarMath::Compare::Less, number, m.number(number, -threshold));
  return m.select(low, m.add(x, bias), m.select(high, m.sub(x, bias), m.number(x, 0)));
}

static Value gelu(const Node &node, ScalarMath &m, Value x) {
  return formulas::gelu(m, x, node.getString("approximate", "none") == "tanh");
}

static void importPRelu(NodeContext &c) {
  Value x = c.input(0, Accepts::Numbers), slope = c.input(1);
  c.checkSameType(0, 1);
  // Before version 7 a list of slopes was for channels.
  if (c.opset < 7 && c.rank(1) == 1 && constantValue(c.shape(1)[0]) != 1 && c.rank(0) > 1) {
    SymbolicShape perChannel = c.shape(1);
    perChannel.append(c.rank(0) - 2, c.dim(1));
    slope = c.reshape(slope, perChannel);
  }
  auto joined = broadcastShapes(c.shape(0), shapeOf(slope));
  if (!joined || !llvm::equal(*joined, c.shape(0)))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected a shape that broadcasts to {1}, got {2}",
           c.nameOfInput(1), c.text(c.shape(0)), c.text(c.shape(1)));
  c.result(c.map({x, slope},
                 [](ScalarMath &m, ValueRange v) { return formulas::leakyRelu(m, v[0], v[1]); }));
}

/// The product of one tensor and the Swish of another of its shape.
static void importSwiGlu(NodeContext &c) {
  Value gate = c.input(0, Accepts::Floats), x = c.input(1);
  c.checkSameType(0, 1);
  if (!llvm::equal(c.shape(0), c.shape(1)))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(1),
           c.text(c.shape(0)), c.text(c.shape(1)));
  c.result(c.map({gate, x},
                 [&](ScalarMath &m, ValueRange v) { return m.mul(swish(c.node, m, v[0]), v[1]); }));
}

/// Default bounds of a clip: the least and the greatest number of the type, so that infinities are
/// clipped too. Before version 11 they were those of f32.
static double greatestNumber(NodeContext &c) {
  auto type = dyn_cast<FloatType>(c.type(0).getElementType());
  if (!type)
    return std::numeric_limits<double>::infinity();
  double greatest = llvm::APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  return c.opset < 11 ? std::min<double>(greatest, std::numeric_limits<float>::max()) : greatest;
}

/// The bounds were attributes before version 11; either may be absent.
static void importClip(NodeContext &c) {
  SmallVector<Value> inputs{c.input(0, Accepts::Numbers)};
  for (size_t i : {1, 2}) {
    if (!c.has(i))
      continue;
    c.checkSameType(0, i);
    if (constantValue(c.product(c.shape(i))) != 1)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected a scalar, got {1}", c.nameOfInput(i),
             c.text(c.shape(i)));
    inputs.push_back(c.reshape(c.input(i), {}));
  }
  bool hasLow = c.has(1), hasHigh = c.has(2);
  double greatest = greatestNumber(c);
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange v) {
    auto bound = [&](bool isInput, Value input, const char *attribute, double otherwise) -> Value {
      if (isInput)
        return input;
      double number = c.node.find(attribute) ? c.node.getFloat(attribute, 0) : otherwise;
      return std::isinf(number) ? Value() : m.number(v[0], number);
    };
    Value x = v[0];
    if (Value low = bound(hasLow, v.size() > 1 ? v[1] : Value(), "min", -greatest))
      x = m.max(x, low);
    if (Value high = bound(hasHigh, v.back(), "max", greatest))
      x = m.min(x, high);
    return x;
  }));
}

OperatorFamily activationOperators() {
  static const Operator table[] = {
      {"Relu", 7, activation<plain<formulas::relu>, Accepts::Numbers>},
      {"Sigmoid", 7, activation<plain<formulas::sigmoid>>},
      {"Softplus", 7, activation<plain<formulas::softplus>>},
      {"Softsign", 7, activation<plain<formulas::softsign>>},
      {"Mish", 18, activation<plain<formulas::mish>>},
      {"Elu", 7, activation<elu>},
      {"Selu", 7, importSelu},
      {"Celu", 12, activation<celu>},
      {"LeakyRelu", 7, activation<leakyRelu>},
      {"ThresholdedRelu", 10, activation<thresholdedRelu>},
      {"HardSigmoid", 7, activation<hardSigmoid>},
      {"HardSwish", 14, activation<plain<formulas::hardSwish>>},
      {"Gelu", 20, activation<gelu>},
      {"Swish", 24, activation<swish>},
      {"SwiGLU", 28, importSwiGlu},
      {"Shrink", 9, activation<shrink, Accepts::Numbers>},
      {"PRelu", 7, importPRelu},
      {"Clip", 7, importClip},
  };
  return table;
}

} // namespace headrace::onnx
