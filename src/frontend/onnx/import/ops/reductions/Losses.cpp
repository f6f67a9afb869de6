// Losses of classes: the negative logarithm of the probability that was given to the right one.
#include "frontend/onnx/import/ops/Composing.h"

using namespace mlir;

namespace headrace::onnx {

/// The element of `x` [batch, classes, ...] at the class that `target` [batch, ...] names: one read
/// for each target, however many classes there are.
static Value pickedClass(NodeContext &c, Value x, Value target) {
  OpBuilder &b = c.builder;
  SymbolicShape shape = shapeOf(target);
  size_t rank = shape.size();
  Type element = elementTypeOf(x);
  AffineMap same = AffineMap::getMultiDimIdentityMap(rank, c.context);
  auto picked = b.create<hr::ComputeOp>(c.loc, c.checkedType(shape, element), ValueRange{target},
                                        ValueRange{x}, symbolMap(shape, c.context),
                                        b.getAffineMapArrayAttr({same}), /*reduced=*/0,
                                        /*initial=*/TypedAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *body =
      b.createBlock(&picked.getBody(), {}, {elementTypeOf(target), x.getType()}, {c.loc, c.loc});
  SmallVector<Value> place;
  for (size_t dim = 0; dim < rank; ++dim)
    place.push_back(b.create<hr::IndexOp>(c.loc, dim));
  place.insert(place.begin() + 1,
               b.create<arith::IndexCastOp>(c.loc, b.getIndexType(), body->getArgument(0)));
  b.create<hr::YieldOp>(
      c.loc, b.create<hr::ElementOp>(c.loc, element, body->getArgument(1), place).getResult());
  return picked;
}

static void checkShapes(NodeContext &c) {
  SymbolicShape x = c.shape(0), expected = x;
  if (x.size() < 2)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 or more, got {1}", c.nameOfInput(0),
           c.text(x));
  expected.erase(expected.begin() + 1);
  SymbolicShape target = c.shape(1);
  bool fits = target.size() == expected.size();
  for (size_t i = 0; fits && i < target.size(); ++i)
    fits = sameSize(target[i], expected[i]);
  if (!fits)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(1),
           c.text(expected), c.text(target));
  if (c.has(2)) {
    c.checkRank(2, 1);
    c.checkSameType(0, 2);
    if (!sameSize(c.shape(2)[0], x[1]))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected a weight for each of {1} classes, got {2}",
             c.nameOfInput(2), c.text({x[1]}), c.text(c.shape(2)));
  }
}

/// The loss from logarithms of probabilities [batch, classes, ...]; inputs 1 and 2 are targets and
/// weights of classes.
static Value negativeLogLikelihood(NodeContext &c, Value logs) {
  checkShapes(c);
  std::string reduction = oneOf(c, "reduction", "mean", {"none", "sum", "mean"});
  Type type = elementTypeOf(logs);
  AffineExpr classes = c.shape(0)[1];
  std::optional<int64_t> ignored;
  if (c.node.find("ignore_index"))
    ignored = c.node.getInt("ignore_index", 0);
  Value target = indices(c, 1);
  target = ignored ? c.checkedTargets(target, classes, *ignored)
                   : c.checkedIndices(target, c.dim(0), classes);

  Value factor; // null: 1
  if (c.has(2))
    factor = c.cast(c.infer<hr::GatherOp>(c.input(2), target, 0), type);
  if (ignored)
    factor = c.map(factor ? ValueRange{target, factor} : ValueRange{target},
                   [&](ScalarMath &m, ValueRange x) {
                     Value isOut = m.compare(ScalarMath::Compare::Equal, x[0],
                                             m.number(x[0], static_cast<double>(*ignored)));
                     Value one = x.size() > 1 ? x[1] : m.numberOf(type, 1);
                     return m.select(isOut, m.numberOf(type, 0), one);
                   });
  Value picked = pickedClass(c, logs, target);
  // A target that is ignored has no loss, even if what stands in its place is infinite.
  Value losses = c.map(factor ? ValueRange{picked, factor} : ValueRange{picked},
                       [](ScalarMath &m, ValueRange x) {
                         Value loss = m.neg(x[0]);
                         if (x.size() == 1)
                           return loss;
                         Value zero = m.number(x[1], 0);
                         Value isOut = m.compare(ScalarMath::Compare::Equal, x[1], zero);
                         return m.select(isOut, zero, m.mul(loss, x[1]));
                       });
  if (reduction == "none")
    return losses;
  auto all = llvm::to_vector(llvm::seq<int64_t>(0, c.rank(1)));
  bool isMean = reduction == "mean" && !factor;
  Value total = c.reduce(isMean ? hr::ReduceKind::Mean : hr::ReduceKind::Sum, losses, all, false);
  if (reduction == "sum" || isMean)
    return total;
  return divide(c, total, c.reduce(hr::ReduceKind::Sum, factor, all, false));
}

static void importNegativeLogLikelihood(NodeContext &c) {
  Value logs = c.input(0, Accepts::Floats);
  Type type = elementTypeOf(logs);
  c.result(c.cast(negativeLogLikelihood(c, c.cast(logs, innerType(type))), type));
}

static void importSoftmaxCrossEntropy(NodeContext &c) {
  Value scores = c.input(0, Accepts::Floats);
  checkShapes(c);
  Type type = elementTypeOf(scores);
  Value logs = c.infer<hr::SoftmaxOp>(c.cast(scores, innerType(type)), 1, /*log=*/true);
  c.result(c.cast(negativeLogLikelihood(c, logs), type));
  c.result(c.cast(logs, type), 1);
}

OperatorFamily lossOperators() {
  static const Operator table[] = {
      {"NegativeLogLikelihoodLoss", 12, importNegativeLogLikelihood},
      {"SoftmaxCrossEntropyLoss", 12, importSoftmaxCrossEntropy},
  };
  return table;
}

} // namespace headrace::onnx
