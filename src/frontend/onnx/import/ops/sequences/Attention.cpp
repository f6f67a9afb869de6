// Attention of the standard and of its preview domain.
#include "frontend/onnx/import/Subgraph.h"
#include "frontend/onnx/import/ops/sequences/AttentionParts.h"

using namespace mlir;

namespace headrace::onnx {

namespace {
enum Input { query, key, value, mask, pastKey, pastValue, keyCount };
enum Output { result, presentKey, presentValue, scores };
} // namespace

static bool wants(NodeContext &c, size_t output) {
  return output < c.node.outputs.size() && !c.node.outputs[output].empty();
}

/// An input of rank 4, or of rank 3 with heads side by side.
static Value inHeads(NodeContext &c, size_t input, const char *headsAttribute) {
  Value x = c.input(input, Accepts::Floats);
  if (c.rank(input) == 3)
    return apartHeads(c, x, c.node.getInt(headsAttribute, 0), c.nameOfInput(input).c_str());
  c.checkRank(input, 4);
  return x;
}

/// The mask; keys beyond its end are not seen.
static void readMask(NodeContext &c, AttentionParts &parts) {
  if (!c.has(mask))
    return;
  Value given = c.input(mask);
  SymbolicShape shape = c.shape(mask);
  bool isBool = c.type(mask).getElementType().isInteger(1);
  if (!isBool)
    c.input(mask, Accepts::Floats);
  AffineExpr keys = shapeOf(parts.key)[2];
  if (!shape.empty() && !sameSize(shape.back(), keys) && constantValue(shape.back()) != 1) {
    int64_t last = c.rank(mask) - 1;
    c.requireNonNegative(keys - shape.back(), "keys beyond the mask");
    if (!constantValue(shape.back())) // of one element it is every key's
      c.requireNonNegative(shape.back() - 2, "size of the mask less 2");
    Type type = c.type(mask).getElementType();
    double unseen = isBool ? 0 : -std::numeric_limits<double>::infinity();
    Value rest = c.broadcast(c.scalar(unseen, type), withDim(shape, last, keys - shape.back()));
    given = concat(c, {given, rest}, last);
  }
  (isBool ? parts.allowed : parts.bias) = inFourDims(c, given);
}

/// Keys and values of earlier calls before those of this one.
static Value withPast(NodeContext &c, Value x, size_t past) {
  if (!c.has(past))
    return x;
  c.checkRank(past, 4);
  return concat(c, {c.input(past, Accepts::Floats), x}, 2);
}

static Value perBatch(NodeContext &c, size_t input) {
  c.checkRank(input, 1);
  return c.reshape(indices(c, input), {c.shape(input)[0], c.dim(1), c.dim(1), c.dim(1)});
}

static void importAttention(NodeContext &c) {
  AttentionParts parts;
  parts.query = inHeads(c, query, "q_num_heads");
  Value newKey = inHeads(c, key, "kv_num_heads");
  Value newValue = inHeads(c, value, "kv_num_heads");
  c.checkSameType(query, key);
  if (c.has(pastKey) != c.has(pastValue))
    c.fail(ErrorKind::InvalidModel, "expected both past keys and past values, or neither");
  parts.key = withPast(c, newKey, pastKey);
  Value allValues = withPast(c, newValue, pastValue);
  parts.value = c.cast(allValues, elementTypeOf(parts.query));
  if (headsOf(c, parts.key) != headsOf(c, parts.value))
    c.fail(ErrorKind::ShapeMismatch, "expected as many heads of values as of keys, got {0}, {1}",
           headsOf(c, parts.value), headsOf(c, parts.key));
  readMask(c, parts);

  Type number = c.builder.getI64Type();
  parts.window.isCausal = c.node.getInt("is_causal", 0) != 0;
  parts.window.left = c.node.getInt("left_window_size", -1);
  parts.window.right = c.node.getInt("right_window_size", -1);
  if (c.has(pastKey))
    parts.window.offset = c.sizeAsData(c.shape(pastKey)[2], number);
  if (c.has(keyCount)) {
    if (c.has(pastKey))
      c.fail(ErrorKind::InvalidModel, "expected past keys or their number, got both");
    parts.window.keyCount = perBatch(c, keyCount);
    // The queries are the last of those keys.
    parts.window.offset =
        subtract(c, parts.window.keyCount, c.sizeAsData(shapeOf(parts.query)[2], number));
  }
  parts.scale = c.node.find("scale") ? c.node.getFloat("scale", 1) : defaultScale(c, parts.query);
  parts.softcap = c.node.getFloat("softcap", 0);
  parts.softmaxType = softmaxPrecision(c);

  c.result(parts.key, presentKey);
  c.result(allValues, presentValue);
  Value all;
  if (wants(c, scores)) {
    AttentionSteps steps = attentionInSteps(c, parts);
    Value modes[] = {steps.scores, steps.capped, steps.biased, steps.weights};
    int64_t mode = c.node.getInt("qk_matmul_output_mode", 0);
    if (mode < 0 || mode > 3)
      c.fail(ErrorKind::InvalidModel, "attribute 'qk_matmul_output_mode': expected 0 to 3, got {0}",
             mode);
    c.result(modes[mode], scores);
    all = steps.result;
  } else {
    all = attention(c, parts);
  }
  c.result(c.rank(query) == 3 ? joinHeads(c, all) : all);
}

/// Subgraphs change scores and weights, tensors of [batch, heads, queries, keys].
static void importFlexAttention(NodeContext &c) {
  AttentionParts parts;
  for (size_t i : {query, key, value})
    c.checkRank(i, 4);
  parts.query = c.input(query, Accepts::Floats);
  parts.key = c.input(key, Accepts::Floats);
  parts.value = c.input(value, Accepts::Floats);
  parts.scale = c.node.find("scale") ? c.node.getFloat("scale", 1) : defaultScale(c, parts.query);
  parts.softmaxType = softmaxPrecision(c);
  auto change = [&](const char *attribute) -> std::function<Value(Value)> {
    if (!c.node.find(attribute))
      return {};
    return [&c, attribute](Value x) { return applySubgraph(c, attribute, x); };
  };
  parts.changeScores = change("score_mod");
  parts.changeWeights = change("prob_mod");
  c.result(attention(c, parts));
}

OperatorFamily attentionOperators() {
  static const Operator table[] = {{"Attention", 23, importAttention}};
  return table;
}

OperatorFamily previewOperators() {
  static const Operator table[] = {{"FlexAttention", 1, importFlexAttention}};
  return table;
}

} // namespace headrace::onnx
