#include "frontend/onnx/import/ops/sequences/AttentionParts.h"

#include "frontend/common/Products.h"

#include <cmath>

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;
static constexpr double kInfinity = std::numeric_limits<double>::infinity();

int64_t headsOf(NodeContext &c, Value x) {
  AffineExpr size = shapeOf(x)[1];
  auto heads = constantValue(size);
  if (!heads || *heads < 1)
    c.fail(ErrorKind::Unsupported, "expected a known number of heads, got {0}", c.text({size}));
  return *heads;
}

Type softmaxPrecision(NodeContext &c) {
  Type type = typeAttribute(c, "softmax_precision");
  if (type && !isPlainFloat(type))
    c.fail(ErrorKind::TypeMismatch, "attribute 'softmax_precision': expected a float, got {0}",
           typeText(type));
  return type;
}

double defaultScale(NodeContext &c, Value query) {
  AffineExpr size = shapeOf(query).back();
  auto depth = constantValue(size);
  if (!depth || *depth < 1)
    c.fail(ErrorKind::Unsupported, "expected a known size of a head, got {0}", c.text({size}));
  return 1 / std::sqrt(static_cast<double>(*depth));
}

Value apartHeads(NodeContext &c, Value x, int64_t heads, const char *what) {
  SymbolicShape shape = shapeOf(x);
  if (heads < 1 || heads > kMaxHeads)
    c.fail(ErrorKind::InvalidModel, "{0}: expected a positive number of heads, got {1}", what,
           heads);
  auto depth = shape.size() == 3 ? exactQuotient(shape[2], c.dim(heads)) : std::nullopt;
  if (!depth)
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected three dimensions, the last a multiple of {1} heads, got {2}", what, heads,
           c.text(shape));
  return c.transpose(c.reshape(x, {shape[0], shape[1], c.dim(heads), *depth}), {0, 2, 1, 3});
}

Value joinHeads(NodeContext &c, Value x) {
  SymbolicShape shape = shapeOf(x);
  return c.reshape(c.transpose(x, {0, 2, 1, 3}), {shape[0], shape[2], shape[1] * shape[3]});
}

Value inFourDims(NodeContext &c, Value mask) {
  SymbolicShape shape = shapeOf(mask);
  if (shape.size() > 4)
    c.fail(ErrorKind::ShapeMismatch, "expected a mask of rank 4 or less, got {0}", c.text(shape));
  SymbolicShape all(4 - shape.size(), c.dim(1));
  all.append(shape.begin(), shape.end());
  return c.reshape(mask, all);
}

/// Booleans that broadcast to [batch, 1, queries, keys]; null if every query sees every key.
static Value seenKeys(NodeContext &c, const KeyWindow &window, AffineExpr queries,
                      AffineExpr keys) {
  if (window.isOpen())
    return {};
  Type number = c.builder.getI64Type();
  Value row = c.reshape(positions(c, queries), {c.dim(1), c.dim(1), queries, c.dim(1)});
  if (window.offset)
    row = add(c, row, c.cast(window.offset, number));
  Value column = c.reshape(positions(c, keys), {c.dim(1), c.dim(1), c.dim(1), keys});
  SmallVector<Value> inputs{row, column};
  if (window.keyCount)
    inputs.push_back(c.cast(window.keyCount, number));
  return c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value seen;
    auto require = [&](Value condition) {
      seen = seen ? m.op<arith::AndIOp>(seen, condition) : condition;
    };
    Value distance = m.sub(x[0], x[1]);
    auto atMost = [&](Value a, int64_t limit) {
      return m.compare(Compare::LessOrEqual, a, m.number(a, static_cast<double>(limit)));
    };
    if (window.isCausal)
      require(m.compare(Compare::LessOrEqual, x[1], x[0]));
    if (window.left >= 0)
      require(atMost(distance, window.left));
    if (window.right >= 0)
      require(atMost(m.neg(distance), window.right));
    if (window.keyCount)
      require(m.compare(Compare::Less, x[1], x[2]));
    return seen;
  });
}

static Value conjunction(NodeContext &c, Value a, Value b) {
  if (!a || !b)
    return a ? a : b;
  return c.map({a, b}, [](ScalarMath &m, ValueRange x) { return m.op<arith::AndIOp>(x[0], x[1]); });
}

/// The bias of scores: minus infinity if a key is not seen. Null if there is none.
static Value wholeBias(NodeContext &c, Value allowed, Value bias, Type type) {
  if (bias)
    bias = c.cast(bias, type);
  if (!allowed)
    return bias;
  return c.map(bias ? ValueRange{allowed, bias} : ValueRange{allowed},
               [&](ScalarMath &m, ValueRange x) {
                 Value seen = x.size() > 1 ? x[1] : m.numberOf(type, 0);
                 return m.select(x[0], seen, m.numberOf(type, -kInfinity));
               });
}

/// Query heads that share a head of keys as further queries of it: [batch, shared, group * queries,
/// depth], which takes no copy of the keys.
struct Groups {
  int64_t shared, size;
  AffineExpr queries;
};

static Groups groupsOf(NodeContext &c, const AttentionParts &parts) {
  int64_t heads = headsOf(c, parts.query), shared = headsOf(c, parts.key);
  if (heads % shared != 0)
    c.fail(ErrorKind::ShapeMismatch, "expected {0} heads of keys to divide {1} heads of queries",
           shared, heads);
  return {shared, heads / shared, shapeOf(parts.query)[2]};
}

static Value folded(NodeContext &c, Value query, const Groups &groups) {
  SymbolicShape shape = shapeOf(query);
  return c.reshape(query, {shape[0], c.dim(groups.shared), groups.queries * groups.size, shape[3]});
}

static Value unfolded(NodeContext &c, Value x, const Groups &groups) {
  SymbolicShape shape = shapeOf(x);
  return c.reshape(x, {shape[0], c.dim(groups.shared * groups.size), groups.queries, shape[3]});
}

/// A bias over [batch, heads, queries, keys] as one over [batch, shared, group * queries, keys].
static Value foldedBias(NodeContext &c, Value bias, const Groups &groups) {
  if (!bias)
    return {};
  bias = inFourDims(c, bias);
  SymbolicShape shape = shapeOf(bias);
  bool perHead = constantValue(shape[1]) != 1;
  if (groups.size == 1 || (!perHead && constantValue(shape[2]) == 1))
    return bias;
  AffineExpr shared = c.dim(perHead ? groups.shared : 1), group = c.dim(groups.size);
  Value apart = c.reshape(bias, {shape[0], shared, perHead ? group : c.dim(1), shape[2], shape[3]});
  Value repeated = c.broadcast(apart, {shape[0], shared, group, groups.queries, shape[3]});
  return c.reshape(repeated, {shape[0], shared, groups.queries * groups.size, shape[3]});
}

static bool isPlain(const AttentionParts &parts) {
  Type type = elementTypeOf(parts.query);
  bool isWide =
      parts.softmaxType && parts.softmaxType != type && parts.softmaxType != innerType(type);
  return parts.softcap == 0 && !isWide && !parts.changeScores && !parts.changeWeights;
}

Value attention(NodeContext &c, AttentionParts parts) {
  if (!isPlain(parts))
    return attentionInSteps(c, std::move(parts)).result;
  Groups groups = groupsOf(c, parts);
  KeyWindow &window = parts.window;
  bool isAttribute = window.isCausal && window.left < 0 && window.right < 0 && !window.offset &&
                     !window.keyCount && groups.size == 1;
  if (isAttribute)
    window.isCausal = false;
  Value seen = seenKeys(c, window, groups.queries, shapeOf(parts.key)[2]);
  Value allowed = conjunction(c, parts.allowed, seen);
  Value bias = wholeBias(c, allowed, parts.bias, elementTypeOf(parts.query));
  Value result = c.infer<hr::AttentionOp>(
      folded(c, parts.query, groups), parts.key, parts.value, foldedBias(c, bias, groups),
      c.builder.getF64FloatAttr(parts.scale), c.builder.getBoolAttr(isAttribute),
      /*zero_masked=*/c.builder.getBoolAttr(bias != nullptr));
  return unfolded(c, result, groups);
}

/// Softmax along the last axis. Keys that are not seen weigh 0, whatever their scores, also if a
/// query sees none.
static Value weightsOf(NodeContext &c, Value scores, Value bias) {
  int64_t last = cast<RankedTensorType>(scores.getType()).getRank() - 1;
  if (!bias)
    return c.infer<hr::SoftmaxOp>(scores, last, /*log=*/false);
  auto isOut = [](ScalarMath &m, Value x) {
    return m.compare(Compare::Equal, x, m.number(x, -kInfinity));
  };
  auto type = cast<FloatType>(elementTypeOf(scores));
  double least = -APFloat::getLargest(type.getFloatSemantics()).convertToDouble();
  Value finite = c.map({scores, bias}, [&](ScalarMath &m, ValueRange x) {
    return m.select(isOut(m, x[1]), m.number(x[0], least), x[0]);
  });
  Value weights = c.infer<hr::SoftmaxOp>(finite, last, /*log=*/false);
  return c.map({weights, bias}, [&](ScalarMath &m, ValueRange x) {
    return m.select(isOut(m, x[1]), m.number(x[0], 0), x[0]);
  });
}

AttentionSteps attentionInSteps(NodeContext &c, AttentionParts parts) {
  Groups groups = groupsOf(c, parts);
  Type type = elementTypeOf(parts.query), inner = innerType(type);
  Value query = folded(c, c.cast(parts.query, inner), groups);
  AttentionSteps steps;
  Value scores = contract(c, query, c.cast(parts.key, inner), "bhqd", "bhkd", "bhqk");
  steps.scores = unfolded(c, scaled(c, scores, parts.scale), groups);
  steps.capped = steps.scores;
  if (double cap = parts.softcap)
    steps.capped = c.map(steps.scores, [&](ScalarMath &m, ValueRange x) {
      Value limit = m.number(x[0], cap);
      return m.mul(m.op<math::TanhOp>(m.div(x[0], limit)), limit);
    });
  Value seen = seenKeys(c, parts.window, groups.queries, shapeOf(parts.key)[2]);
  Value bias = wholeBias(c, conjunction(c, parts.allowed, seen), parts.bias, inner);
  steps.biased = bias ? add(c, steps.capped, bias) : steps.capped;

  Type softmaxType = innerType(parts.softmaxType ? parts.softmaxType : inner);
  Value logits = c.cast(steps.biased, softmaxType);
  if (parts.changeScores)
    logits = parts.changeScores(logits);
  steps.weights = weightsOf(c, logits, bias ? c.cast(bias, softmaxType) : Value());
  if (parts.changeWeights)
    steps.weights = parts.changeWeights(steps.weights);
  Value value = c.cast(parts.value, softmaxType);
  SymbolicShape shape = shapeOf(steps.weights);
  Value rows = c.reshape(steps.weights,
                         {shape[0], c.dim(groups.shared), groups.queries * groups.size, shape[3]});
  steps.result =
      c.cast(unfolded(c, contract(c, rows, value, "bhqk", "bhkd", "bhqd"), groups), type);
  for (Value *step : {&steps.scores, &steps.capped, &steps.biased, &steps.weights})
    *step = c.cast(*step, type);
  return steps;
}

} // namespace headrace::onnx
