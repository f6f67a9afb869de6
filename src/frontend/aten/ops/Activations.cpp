#include "frontend/aten/Table.h"

namespace headrace::aten {

static Write named(const std::string &function) {
  return [function](Call &c) -> Value { return c.mapAs(c.type(), function, {c["self"]}); };
}

static Value gelu(Call &c) {
  bool byTanh = c.text("approximate", "none") == "tanh";
  return c.map(byTanh ? "gelu_tanh" : "gelu", {c["self"]});
}

static Value softplus(Call &c) {
  Node x = c.tensor("self");
  double beta = c.number("beta", 1), threshold = c.number("threshold", 20);
  if (beta == 1 && threshold >= 20)
    return c.map("softplus", {x});
  Node inner = c.map("mul", {x, beta});
  Node curve = c.map("div", {c.map("softplus", {inner}), beta});
  return c.select(c.map("greater", {inner, threshold}), x, curve, c.type());
}

/// Flat where it meets its bounds.
static Node bounded(Call &c, double low, double high) {
  Node x = c.mapAs(c.type(), "max", {c["self"], low});
  if (!c.differentiates)
    return c.mapAs(c.type(), "min", {x, high});
  return c.select(c.map("greater_equal", {x, high}), high, x, c.type());
}

static Value hardTanh(Call &c) {
  return bounded(c, c.number("min_val", -1), c.number("max_val", 1));
}

// If x is 0, the activations below have the gradient of negative numbers.

static Node exponentialUnit(Call &c, double alpha, double scale, double inputScale) {
  Node x = c.widened(c.tensor("self"));
  auto times = [&](Node y, double factor) { return factor == 1 ? y : c.map("mul", {y, factor}); };
  Node curve = times(c.map("expm1", {times(x, inputScale)}), alpha);
  Node value = c.select(c.map("greater", {x, 0}), x, curve, c.type(x));
  return c.b.cast(times(value, scale), c.type());
}

static Value elu(Call &c) {
  return exponentialUnit(c, c.number("alpha", 1), c.number("scale", 1), c.number("input_scale", 1));
}

static Value leaky(Call &c, const Value &slope) {
  Node x = c.tensor("self");
  return c.select(c.map("greater", {x, 0}), x, c.mapAs(c.type(), "mul", {slope, x}), c.type());
}

static Value leakyRelu(Call &c) {
  return leaky(c, c.has("negative_slope") ? c["negative_slope"] : Value(0.01));
}

static Value prelu(Call &c) {
  Node weight = c.tensor("weight");
  int64_t rank = c.rank(c.tensor("self"));
  bool isVector = c.rank(weight) == 1 && rank > 1;
  return leaky(c, isVector ? c.perChannel(weight, rank) : weight);
}

static Value threshold(Call &c) {
  Node x = c.tensor("self");
  return c.select(c.map("greater", {x, c["threshold"]}), x, c["value"], c.type());
}

/// The first half of a dimension, times the sigmoid of the second one.
static Value glu(Call &c) {
  Node x = c.tensor("self");
  int64_t axis = c.axis("dim", c.rank(x), -1);
  Size half = c.shape().at(axis);
  Node gate = c.map("sigmoid", {c.part(x, axis, half, half)});
  return c.map("mul", {c.part(x, axis, int64_t{0}, half), gate});
}

Operators activationOperators() {
  return {
      {"relu", named("relu")},
      {"sigmoid", named("sigmoid")},
      {"silu", named("silu")},
      {"mish", named("mish")},
      {"hardsigmoid", named("hard_sigmoid")},
      {"hardswish", named("hard_swish")},
      {"gelu", gelu},
      {"softplus", softplus},
      {"hardtanh", hardTanh},
      {"relu6", [](Call &c) -> Value { return bounded(c, 0, 6); }},
      {"elu", elu},
      {"selu",
       [](Call &c) -> Value {
         return exponentialUnit(c, 1.6732632423543772848170429916717,
                                1.0507009873554804934193349852946, 1);
       }},
      {"celu",
       [](Call &c) -> Value {
         double alpha = c.number("alpha", 1);
         return exponentialUnit(c, alpha, 1, 1 / alpha);
       }},
      {"leaky_relu", leakyRelu},
      {"_prelu_kernel", [](Call &c) -> Value { return leaky(c, c["weight"]); }},
      {"prelu", prelu},
      {"threshold", threshold},
      {"glu", glu},
      {"log_sigmoid", named("log_sigmoid")},
      {"log_sigmoid_forward",
       [](Call &c) -> Value { return List{c.map("log_sigmoid", {c["self"]}), {}}; }},
  };
}

} // namespace headrace::aten
