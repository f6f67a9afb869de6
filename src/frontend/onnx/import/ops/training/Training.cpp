// Steps of optimizers (ai.onnx.preview.training): inputs are the rate, the number of updates so
// far, then tensors, their gradients and what the optimizer keeps of each; outputs are new tensors,
// then what is kept.
#include "frontend/onnx/import/ops/Composing.h"
#include "frontend/onnx/import/ops/training/Gradient.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// One tensor's update in the body of a map. `of` are its values: the tensor, its gradient, and
/// what is kept; `rate` and `count` are numbers of its type.
struct Update {
  ScalarMath &m;
  const Node &node;
  Value rate, count;
  ValueRange of;

  Value number(double value) { return m.number(rate, value); }
  Value attribute(const char *name, float otherwise) {
    return number(node.getFloat(name, otherwise));
  }
  Value isFirst() { return m.compare(ScalarMath::Compare::LessOrEqual, count, number(0)); }
  /// The gradient with that of a penalty on squares.
  Value gradient() { return m.add(m.mul(attribute("norm_coefficient", 0), of[0]), of[1]); }
};

using Rule = SmallVector<Value> (*)(Update &);

SmallVector<Value> adagrad(Update &u) {
  ScalarMath &m = u.m;
  Value decay = m.mul(u.count, u.attribute("decay_factor", 0));
  Value rate = m.div(u.rate, m.add(u.number(1), decay));
  Value gradient = u.gradient(), squares = m.add(u.of[2], m.mul(gradient, gradient));
  Value root = m.add(m.op<math::SqrtOp>(squares), u.attribute("epsilon", 1e-6f));
  return {m.sub(u.of[0], m.div(m.mul(rate, gradient), root)), squares};
}

SmallVector<Value> momentum(Update &u) {
  ScalarMath &m = u.m;
  Value gradient = u.gradient(), alpha = u.attribute("alpha", 0);
  Value beta = m.select(u.isFirst(), u.number(1), u.attribute("beta", 0));
  Value kept = m.add(m.mul(alpha, u.of[2]), m.mul(beta, gradient));
  bool isNesterov = u.node.getString("mode", "standard") == "nesterov";
  Value direction = isNesterov ? m.add(gradient, m.mul(alpha, kept)) : kept;
  return {m.sub(u.of[0], m.mul(u.rate, direction)), kept};
}

SmallVector<Value> adam(Update &u) {
  ScalarMath &m = u.m;
  Value gradient = u.gradient(), one = u.number(1);
  Value alpha = u.attribute("alpha", 0.9f), beta = u.attribute("beta", 0.999f);
  auto blend = [&](Value factor, Value old, Value added) {
    return m.add(m.mul(factor, old), m.mul(m.sub(one, factor), added));
  };
  Value mean = blend(alpha, u.of[2], gradient);
  Value squares = blend(beta, u.of[3], m.mul(gradient, gradient));
  Value root = m.add(m.op<math::SqrtOp>(squares), u.attribute("epsilon", 1e-6f));
  auto left = [&](Value factor) { return m.sub(one, m.op<math::PowFOp>(factor, u.count)); };
  Value corrected = m.div(m.mul(u.rate, m.op<math::SqrtOp>(left(beta))), left(alpha));
  Value rate = m.select(u.isFirst(), u.rate, corrected);
  Value next = m.sub(u.of[0], m.mul(rate, m.div(mean, root)));
  Value keep = m.sub(one, u.attribute("norm_coefficient_post", 0));
  return {m.mul(keep, next), mean, squares};
}

} // namespace

/// `values` of each tensor: itself, its gradient, and what is kept.
template <Rule rule, size_t values> static void importUpdate(NodeContext &c) {
  if (c.inputCount() < 2 + values || (c.inputCount() - 2) % values != 0)
    c.fail(ErrorKind::InvalidModel, "expected 2 inputs and {0} for each tensor, got {1}", values,
           c.inputCount());
  if (rule == momentum)
    oneOf(c, "mode", "standard", {"standard", "nesterov"});
  size_t tensors = (c.inputCount() - 2) / values;
  Value rate = c.input(0, Accepts::Floats), count = c.input(1, Accepts::Integers);
  for (size_t t = 0; t < tensors; ++t) {
    SmallVector<Value> inputs{rate, count};
    for (size_t i = 0; i < values; ++i) {
      size_t place = 2 + i * tensors + t;
      inputs.push_back(c.input(place, Accepts::Floats));
      c.checkSameType(2 + t, place);
      if (!llvm::equal(c.shape(2 + t), c.shape(place)))
        c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(place),
               c.text(c.shape(2 + t)), c.text(c.shape(place)));
    }
    Type type = c.type(2 + t).getElementType();
    for (size_t k = 0; k + 1 < values; ++k)
      c.result(c.map(inputs,
                     [&](ScalarMath &m, ValueRange x) {
                       Update update{m, c.node, m.convert(x[0], type), m.convert(x[1], type),
                                     x.drop_front(2)};
                       return rule(update)[k];
                     }),
               k * tensors + t);
  }
}

OperatorFamily trainingOperators() {
  static const Operator table[] = {
      {"Gradient", 1, importGradient},
      {"Adagrad", 1, importUpdate<adagrad, 3>},
      {"Momentum", 1, importUpdate<momentum, 3>},
      {"Adam", 1, importUpdate<adam, 4>},
  };
  return table;
}

} // namespace headrace::onnx
