// Losses. Classes are picked by comparison, which fuses with the loops around it.
#include "frontend/aten/Table.h"
#include "frontend/aten/ops/Common.h"

namespace headrace::aten {

enum Reduction : int64_t { None, Mean, Sum };

static Node finished(Call &c, Node losses, int64_t reduction) {
  if (reduction == None)
    return losses;
  Integers axes;
  for (int64_t i = 0; i < c.rank(losses); ++i)
    axes.push_back(i);
  return reduced(c, reduction == Mean ? "mean" : "sum", losses, axes, false);
}

static Value squaredError(Call &c) {
  Node difference = c.mapAs(c.type(), "sub", {c["self"], c["target"]});
  return finished(c, c.map("square", {difference}), c.integer("reduction", Mean));
}

/// x: [classes], [batch, classes] or [batch, classes, height, width].
static Value negativeLogLikelihood(Call &c) {
  Node x = c.tensor("self");
  Sizes shape = c.b.shape(x);
  DType type = c.type(x);
  int64_t axis = shape.size() == 1 ? 0 : 1;
  auto classes = known(shape[axis]);
  if (!classes)
    c.unsupported("a loss over a dynamic number of classes");
  int64_t ignored = c.integer("ignore_index", -100);
  Node target = c.b.targets(c.tensor("target"), *classes, ignored);
  Sizes ones{*classes};
  ones.insert(ones.end(), shape.size() - 1 - axis, Size(int64_t{1}));
  Node numbers = c.b.reshape(c.iota(*classes), ones);
  Node wanted = c.unsqueeze(c.b.cast(target, DType::I64), {axis});
  Node chosen = c.map("equal", {wanted, numbers});
  Node factor = c.b.cast(c.map("not_equal", {target, ignored}), type);
  if (auto weight = c.optionalTensor("weight")) {
    Node weights = c.b.reshape(*weight, ones);
    Node own = reduced(c, "sum", c.select(chosen, weights, 0, type), {axis}, false);
    factor = c.map("mul", {factor, own});
  }
  Node picked = reduced(c, "sum", c.select(chosen, x, 0, type), {axis}, false);
  Node losses = c.map("neg", {c.map("mul", {picked, factor})});
  Node total = finished(c, factor, Sum);
  int64_t reduction = c.integer("reduction", Mean);
  if (reduction == Mean)
    return List{c.map("div", {finished(c, losses, Sum), total}), total};
  return List{finished(c, losses, reduction), total};
}

namespace {
/// If x is all but 0 or 1, PyTorch divides by a small number instead of x (1 - x).
struct Sure {
  Node is;
  Node line; // through 0 with that slope
};
} // namespace

static Sure slopeOfTheSure(Call &c, Node x, Node target) {
  constexpr double least = 9.999999960041972e-13; // 1e-12 in f32
  DType type = c.type(x);
  x = c.widened(x), target = c.widened(target);
  Node here = c.b.detach(x), wanted = c.b.detach(target);
  Node isSure = c.map("less", {c.map("mul", {here, c.map("sub", {1, here})}), least});
  Node slope = c.map("div", {c.map("sub", {here, wanted}), least});
  Node line = c.b.cast(c.map("mul", {c.map("sub", {x, here}), slope}), type);
  return {isSure, c.select(isSure, line, 0, type)};
}

/// Logarithms are bounded by -100, as PyTorch bounds them.
static Value binaryCrossEntropy(Call &c) {
  Node x = c.tensor("self"), target = c.tensor("target");
  std::optional<Sure> sure;
  if (c.differentiates) {
    sure = slopeOfTheSure(c, x, target);
    x = c.select(sure->is, c.b.detach(x), x, c.type(x));
  }
  Node yes = c.map("max", {c.map("log", {x}), -100});
  Node no = c.map("max", {c.map("log", {c.map("sub", {1, x})}), -100});
  Node likely =
      c.map("add", {c.map("mul", {target, yes}), c.map("mul", {c.map("sub", {1, target}), no})});
  Node losses = c.map("neg", {likely});
  if (sure)
    losses = c.map("add", {losses, sure->line});
  if (auto weight = c.optionalTensor("weight"))
    losses = c.map("mul", {losses, *weight});
  return finished(c, losses, c.integer("reduction", Mean));
}

Operators lossOperators() {
  return {
      {"mse_loss", squaredError},
      {"nll_loss_forward.default", negativeLogLikelihood},
      {"nll_loss2d_forward", negativeLogLikelihood},
      {"binary_cross_entropy", binaryCrossEntropy},
  };
}

} // namespace headrace::aten
