// Attention and MultiHeadAttention of com.microsoft.
#include "frontend/common/Products.h"
#include "frontend/onnx/import/MicrosoftOperators.h"
#include "frontend/onnx/import/ops/sequences/AttentionParts.h"

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;

/// The bias of scores whose keys the mask, an input of integers, leaves out. The mask: lengths of
/// keys [batch], ends and starts [2 * batch], or a number for each key ([batch, keys], [batch,
/// queries, keys] or of rank 4), 0 for those left out.
static Value maskAsBias(NodeContext &c, size_t input, AffineExpr batch, AffineExpr keys,
                        Type type) {
  Value mask = indices(c, input);
  SymbolicShape shape = c.shape(input);
  double out = c.node.getFloat("mask_filter_value", -10000);
  auto biasOf = [&](Value isSeen) {
    return c.map(isSeen, [&](ScalarMath &m, ValueRange x) {
      return m.select(x[0], m.numberOf(type, 0), m.numberOf(type, out));
    });
  };
  if (shape.size() == 1) {
    Value column = positions(c, keys);
    SymbolicShape perBatch{batch, c.dim(1), c.dim(1), c.dim(1)};
    bool hasStarts = sameSize(shape[0], batch * 2) && !sameSize(shape[0], batch);
    if (!hasStarts && !sameSize(shape[0], batch))
      c.fail(ErrorKind::Unsupported, "{0}: expected lengths of {1} sequences, got {2}",
             c.nameOfInput(input), c.text({batch}), c.text(shape));
    SmallVector<Value> inputs{column, c.reshape(part(c, mask, 0, c.dim(0), batch), perBatch)};
    if (hasStarts)
      inputs.push_back(c.reshape(part(c, mask, 0, batch, batch), perBatch));
    return biasOf(c.map(inputs, [](ScalarMath &m, ValueRange x) {
      Value isSeen = m.compare(Compare::Less, x[0], x[1]);
      if (x.size() > 2)
        isSeen = m.op<arith::AndIOp>(isSeen, m.compare(Compare::GreaterOrEqual, x[0], x[2]));
      return isSeen;
    }));
  }
  SymbolicShape wide;
  if (shape.size() == 2)
    wide = {shape[0], c.dim(1), c.dim(1), shape[1]};
  else if (shape.size() == 3)
    wide = {shape[0], c.dim(1), shape[1], shape[2]};
  else
    c.fail(ErrorKind::Unsupported, "{0}: expected a mask of rank 1 to 3, got {1}",
           c.nameOfInput(input), c.text(shape));
  Value isSeen = c.map(c.reshape(mask, wide), [](ScalarMath &m, ValueRange x) {
    return m.compare(Compare::Greater, x[0], m.number(x[0], 0));
  });
  return biasOf(isSeen);
}

static void readMasks(NodeContext &c, AttentionParts &parts, size_t mask, size_t bias) {
  Type type = elementTypeOf(parts.query);
  AffineExpr batch = shapeOf(parts.query)[0], keys = shapeOf(parts.key)[2];
  if (c.has(mask))
    parts.bias = maskAsBias(c, mask, batch, keys, type);
  if (c.has(bias)) {
    Value more = inFourDims(c, c.input(bias, Accepts::Floats));
    parts.bias = parts.bias ? add(c, parts.bias, more) : more;
  }
}

static double scaleOf(NodeContext &c, Value query) {
  double stated = c.node.getFloat("scale", 0);
  return stated != 0 ? stated : defaultScale(c, query);
}

/// The input times weights for queries, keys and values side by side.
static void importAttention(NodeContext &c) {
  Value x = c.input(0, Accepts::Floats), weights = c.input(1, Accepts::Floats);
  c.checkRank(0, 3);
  c.checkRank(1, 2);
  if (c.node.getInt("do_rotary", 0) != 0 || c.node.getInt("past_present_share_buffer", 0) != 0)
    c.fail(ErrorKind::Unsupported, "rotary embeddings and shared buffers are not supported");
  Value all = contract(c, x, weights, "bsd", "dn", "bsn");
  if (c.has(2))
    all = add(c, all, c.input(2, Accepts::Floats));
  std::vector<int64_t> sizes = c.node.getInts("qkv_hidden_sizes");
  auto total = constantValue(c.shape(1)[1]);
  if (sizes.empty() && total && *total % 3 == 0)
    sizes.assign(3, *total / 3);
  auto isPart = [&](int64_t size) { return total && size >= 0 && size <= *total; };
  if (sizes.size() != 3 || !llvm::all_of(sizes, isPart) || sizes[0] + sizes[1] + sizes[2] != *total)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected columns for queries, keys and values, got {1}",
           c.nameOfInput(1), c.text(c.shape(1)));
  int64_t heads = c.node.getInt("num_heads", 0), start = 0;
  SmallVector<Value> three;
  for (int64_t size : sizes) {
    three.push_back(apartHeads(c, part(c, all, 2, c.dim(start), c.dim(size)), heads, "projection"));
    start += size;
  }
  AttentionParts parts{.query = three[0], .key = three[1], .value = three[2]};
  if (c.has(4)) {
    Value past = c.input(4, Accepts::Floats); // [2, batch, heads, length, depth]
    c.checkRank(4, 5);
    if (constantValue(c.shape(4)[0]) != 2)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected keys and values, got {1}", c.nameOfInput(4),
             c.text(c.shape(4)));
    SymbolicShape one(ArrayRef(c.shape(4)).drop_front());
    auto half = [&](int64_t i) { return c.reshape(part(c, past, 0, c.dim(i), c.dim(1)), one); };
    parts.key = concat(c, {half(0), parts.key}, 2);
    parts.value = concat(c, {half(1), parts.value}, 2);
    parts.window.offset = c.sizeAsData(one[2], c.builder.getI64Type());
  }
  readMasks(c, parts, 3, 5);
  parts.window.isCausal = c.node.getInt("unidirectional", 0) != 0;
  parts.scale = scaleOf(c, parts.query);
  c.result(joinHeads(c, attention(c, parts)));
  if (c.node.outputs.size() > 1) {
    SymbolicShape two = shapeOf(parts.key);
    two.insert(two.begin(), c.dim(1));
    c.result(concat(c, {c.reshape(parts.key, two), c.reshape(parts.value, two)}, 0), 1);
  }
}

namespace {
enum Input { query, key, value, bias, mask, scores, pastKey, pastValue };
} // namespace

/// Part of several tensors that lie side by side for each head: [batch, length, heads, count,
/// depth].
static Value packed(NodeContext &c, size_t input, int64_t i) {
  c.checkRank(input, 5);
  SymbolicShape shape = c.shape(input);
  Value one = part(c, c.input(input, Accepts::Floats), 3, c.dim(i), c.dim(1));
  return c.transpose(c.reshape(one, {shape[0], shape[1], shape[2], shape[4]}), {0, 2, 1, 3});
}

/// One of the three inputs by heads, with its part of the bias.
static Value inHeads(NodeContext &c, size_t input, int64_t heads, AffineExpr &biasStart) {
  if (c.rank(input) == 4) // by heads already, as keys and values of another sequence are
    return c.input(input, Accepts::Floats);
  c.checkRank(input, 3);
  Value x = c.input(input, Accepts::Floats);
  if (c.has(bias)) {
    c.checkRank(bias, 1);
    AffineExpr size = c.shape(input).back();
    x = add(c, x, part(c, c.input(bias, Accepts::Floats), 0, biasStart, size));
    biasStart = biasStart + size;
  }
  return apartHeads(c, x, heads, c.nameOfInput(input).c_str());
}

static void importMultiHeadAttention(NodeContext &c) {
  int64_t heads = c.node.getInt("num_heads", 0);
  AttentionParts parts;
  bool isPacked = c.rank(query) == 5 || (c.has(key) && c.rank(key) == 5);
  if (isPacked && c.has(bias))
    c.fail(ErrorKind::Unsupported, "a bias of packed inputs is not supported");
  AffineExpr biasStart = c.dim(0);
  if (c.rank(query) == 5) {
    parts.query = packed(c, query, 0);
    parts.key = packed(c, query, 1);
    parts.value = packed(c, query, 2);
  } else {
    parts.query = inHeads(c, query, heads, biasStart);
    if (!c.has(key))
      c.fail(ErrorKind::MissingInput, "the keys are missing");
    parts.key = isPacked ? packed(c, key, 0) : inHeads(c, key, heads, biasStart);
    parts.value = isPacked ? packed(c, key, 1) : inHeads(c, value, heads, biasStart);
  }
  if (c.has(pastKey) && c.has(pastValue)) {
    c.checkRank(pastKey, 4);
    c.checkRank(pastValue, 4);
    parts.key = concat(c, {c.input(pastKey, Accepts::Floats), parts.key}, 2);
    parts.value = concat(c, {c.input(pastValue, Accepts::Floats), parts.value}, 2);
    parts.window.offset = c.sizeAsData(c.shape(pastKey)[2], c.builder.getI64Type());
  }
  if (c.has(8) || c.has(9))
    c.fail(ErrorKind::Unsupported, "caches with a separate length or order are not supported");
  readMasks(c, parts, mask, scores);
  parts.window.isCausal = c.node.getInt("unidirectional", 0) != 0;
  parts.scale = scaleOf(c, parts.query);
  c.result(joinHeads(c, attention(c, parts)));
  c.result(parts.key, 1);
  c.result(parts.value, 2);
}

OperatorFamily microsoftAttentionOperators() {
  static const Operator table[] = {
      {"Attention", 1, importAttention},
      {"MultiHeadAttention", 1, importMultiHeadAttention},
  };
  return table;
}

} // namespace headrace::onnx
