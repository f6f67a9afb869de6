// GroupQueryAttention and RotaryEmbedding of com.microsoft, which the model builder writes.
#include "frontend/onnx/import/MicrosoftOperators.h"
#include "frontend/onnx/import/ops/sequences/AttentionParts.h"
#include "frontend/onnx/import/ops/sequences/Rotary.h"

using namespace mlir;

namespace headrace::onnx {

using Compare = ScalarMath::Compare;

/// Positions from a first one on, or one for each element of the sequences: [batch, length].
static Value sequencePositions(NodeContext &c, Value given, AffineExpr batch, AffineExpr length) {
  if (shapeOf(given).size() == 2)
    return given;
  Value first = c.reshape(given, {});
  Value all = add(c, positions(c, length), first);
  return c.broadcast(c.reshape(all, {c.dim(1), length}), {batch, length});
}

/// Cosines or sines of each position, from a cache [positions, pairs] that is input `i`.
static Value angles(NodeContext &c, size_t i, Value at) {
  c.checkRank(i, 2);
  AffineExpr size = c.shape(i)[0];
  return c.infer<hr::GatherOp>(c.input(i, Accepts::Floats), c.checkedIndices(at, c.dim(0), size),
                               0);
}

/// x is [batch, heads, length, depth]; computed in f32 if it is narrower.
static Value turned(NodeContext &c, Value x, Value cosines, Value sines, bool interleaved) {
  Type type = elementTypeOf(x);
  return c.cast(rotated(c, c.cast(x, innerType(type)), cosines, sines, interleaved), type);
}

static void importRotaryEmbedding(NodeContext &c) {
  Value x = c.input(0, Accepts::Floats);
  if (c.node.getInt("is_packed_batching", 0) != 0 || c.node.getFloat("scale", 1) != 1)
    c.fail(ErrorKind::Unsupported, "packed batches and scales are not supported");
  bool isJoined = c.rank(0) == 3;
  if (!isJoined)
    c.checkRank(0, 4);
  if (isJoined) {
    int64_t heads = c.node.getInt("num_heads", 0);
    // Without a number of heads, the cache is for whole heads.
    auto pairs = c.rank(2) == 2 ? constantValue(c.shape(2)[1]) : std::nullopt;
    auto hidden = constantValue(c.shape(0)[2]);
    if (heads == 0 && pairs && *pairs > 0 && hidden)
      heads = *hidden / (2 * *pairs);
    x = apartHeads(c, x, heads, c.nameOfInput(0).c_str());
  }
  SymbolicShape shape = shapeOf(x);
  Value at = sequencePositions(c, indices(c, 1), shape[0], shape[2]);
  Value result =
      turned(c, x, angles(c, 2, at), angles(c, 3, at), c.node.getInt("interleaved", 0) != 0);
  c.result(isJoined ? joinHeads(c, result) : result);
}

namespace {
enum Input {
  query,
  key,
  value,
  pastKey,
  pastValue,
  lastKey,
  totalLength,
  cosines,
  sines,
  positionIds,
  bias,
  sink
};
} // namespace

/// Keys or values of this call put behind those of earlier ones, which are as many as `pastCount`
/// [batch, 1, 1, 1] says of each of the batch; beyond both the cache holds zeros.
static Value appended(NodeContext &c, Value past, Value fresh, Value pastCount) {
  OpBuilder &b = c.builder;
  SymbolicShape shape = shapeOf(fresh);
  shape[2] = shape[2] + shapeOf(past)[2];
  Type element = elementTypeOf(fresh);
  AffineExpr zero = getAffineConstantExpr(0, c.context), batch = getAffineDimExpr(0, c.context);
  AffineMap perBatch = AffineMap::get(4, 0, {batch, zero, zero, zero}, c.context);
  auto result = b.create<hr::ComputeOp>(
      c.loc, c.checkedType(shape, element), ValueRange{pastCount}, ValueRange{past, fresh},
      symbolMap(shape, c.context), b.getAffineMapArrayAttr({perBatch}), /*reduced=*/0, TypedAttr());
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&result.getBody(), {},
                              {elementTypeOf(pastCount), past.getType(), fresh.getType()},
                              {c.loc, c.loc, c.loc});
  ScalarMath m(b, c.loc);
  SmallVector<Value> place;
  for (int64_t dim = 0; dim < 4; ++dim)
    place.push_back(b.create<hr::IndexOp>(c.loc, dim));
  Value count = b.create<arith::IndexCastOp>(c.loc, b.getIndexType(), body->getArgument(0));
  Value isPast = b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::slt, place[2], count);
  Value old = b.create<hr::ElementOp>(c.loc, element, body->getArgument(1), place);
  place[2] = b.create<arith::SubIOp>(c.loc, place[2], count);
  Value added = b.create<hr::ElementOp>(c.loc, element, body->getArgument(2), place);
  Value length = b.create<hr::SizeOp>(c.loc, symbolMap({shapeOf(fresh)[2]}, c.context));
  Value isFresh = b.create<arith::CmpIOp>(c.loc, arith::CmpIPredicate::slt, place[2], length);
  added = m.select(isFresh, added, m.number(added, 0));
  b.create<hr::YieldOp>(c.loc, m.select(isPast, old, added));
  return result;
}

/// Checks that a KV cache has the type and shape of the new keys or values, except for the length.
static void checkCache(NodeContext &c, size_t input, Value fresh) {
  c.checkRank(input, 4);
  SymbolicShape shape = c.shape(input), expected = withDim(shapeOf(fresh), 2, shape[2]);
  for (auto [size, other] : llvm::zip(shape, expected))
    if (!sameSize(size, other))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(input),
             c.text(expected), c.text(shape));
  if (c.type(input).getElementType() != elementTypeOf(fresh))
    c.fail(ErrorKind::TypeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(input),
           typeText(elementTypeOf(fresh)), typeText(c.type(input).getElementType()));
}

/// Keys of one tensor [batch, length, (heads + 2 shared) * depth], if queries, keys and values
/// lie side by side, or three tensors.
static void readHeads(NodeContext &c, AttentionParts &parts) {
  int64_t heads = c.node.getInt("num_heads", 0), shared = c.node.getInt("kv_num_heads", 0);
  if (heads < 1 || shared < 1 || heads > kMaxHeads || shared > kMaxHeads)
    c.fail(ErrorKind::InvalidModel, "expected positive numbers of heads, got {0} and {1}", heads,
           shared);
  c.checkRank(query, 3);
  if (c.has(key)) {
    parts.query = apartHeads(c, c.input(query, Accepts::Floats), heads, "queries");
    parts.key = apartHeads(c, c.input(key, Accepts::Floats), shared, "keys");
    parts.value = apartHeads(c, c.input(value, Accepts::Floats), shared, "values");
    return;
  }
  Value all = apartHeads(c, c.input(query, Accepts::Floats), heads + 2 * shared, "queries");
  auto some = [&](int64_t start, int64_t count) {
    return part(c, all, 1, c.dim(start), c.dim(count));
  };
  parts.query = some(0, heads);
  parts.key = some(heads, shared);
  parts.value = some(heads + shared, shared);
}

static void importGroupQueryAttention(NodeContext &c) {
  if (c.has(sink) || c.node.getInt("smooth_softmax", 0) > 0 || c.has(12) || c.has(13) ||
      c.has(14) || c.has(15))
    c.fail(ErrorKind::Unsupported,
           "sinks, quantized caches and normalized heads are not supported");
  AttentionParts parts;
  readHeads(c, parts);
  Type number = c.builder.getI64Type();
  SymbolicShape shape = shapeOf(parts.query);
  AffineExpr batch = shape[0], length = shape[2];
  SymbolicShape perBatch{batch, c.dim(1), c.dim(1), c.dim(1)};
  bool hasPast = c.has(pastKey) && c.has(pastValue);
  if (hasPast) {
    checkCache(c, pastKey, parts.key);
    checkCache(c, pastValue, parts.value);
    if (!sameSize(c.shape(pastKey)[2], c.shape(pastValue)[2]))
      c.fail(ErrorKind::ShapeMismatch, "expected caches of one length, got {0} and {1}",
             c.text(c.shape(pastKey)), c.text(c.shape(pastValue)));
  }
  AffineExpr total = hasPast ? length + c.shape(pastKey)[2] : length;
  // The cache grows by what is new; one that is as long as it will ever be is another operator.
  Value last = c.checkedIndices(indices(c, lastKey), c.dim(0), total);
  Value keyCount = c.map(c.reshape(last, perBatch), [](ScalarMath &m, ValueRange x) {
    return m.add(x[0], m.number(x[0], 1));
  });
  Value pastCount = c.broadcast(c.scalar(0, number), perBatch);
  if (hasPast) // a first call may have sequences shorter than the longest
    pastCount = c.map({keyCount, c.sizeAsData(length, number)}, [](ScalarMath &m, ValueRange x) {
      return m.max(m.sub(x[0], x[1]), m.number(x[0], 0));
    });

  if (c.node.getInt("do_rotary", 0) != 0) {
    Value at;
    if (c.has(positionIds))
      at = indices(c, positionIds);
    else
      at = add(c, c.reshape(pastCount, {batch, c.dim(1)}), positions(c, length));
    bool interleaved = c.node.getInt("rotary_interleaved", 0) != 0;
    Value cos = angles(c, cosines, at), sin = angles(c, sines, at);
    parts.query = turned(c, parts.query, cos, sin, interleaved);
    parts.key = turned(c, parts.key, cos, sin, interleaved);
  }
  if (hasPast) {
    parts.key = appended(c, c.input(pastKey, Accepts::Floats), parts.key, pastCount);
    parts.value = appended(c, c.input(pastValue, Accepts::Floats), parts.value, pastCount);
    parts.window.offset = pastCount;
  }
  parts.window.isCausal = c.node.getInt("causal", 1) != 0;
  // A window of this many keys, the query's own among them.
  if (int64_t window = c.node.getInt("local_window_size", -1); window > 0)
    parts.window.left = window - 1;
  parts.window.keyCount = keyCount;
  if (c.has(bias))
    parts.bias = inFourDims(c, c.input(bias, Accepts::Floats));
  double scale = c.node.getFloat("scale", 0);
  parts.scale = scale != 0 ? scale : defaultScale(c, parts.query);
  parts.softcap = c.node.getFloat("softcap", 0);
  c.result(joinHeads(c, attention(c, parts)));
  c.result(parts.key, 1);
  c.result(parts.value, 2);
}

OperatorFamily microsoftGroupedAttentionOperators() {
  static const Operator table[] = {
      {"GroupQueryAttention", 1, importGroupQueryAttention},
      {"RotaryEmbedding", 1, importRotaryEmbedding},
  };
  return table;
}

} // namespace headrace::onnx
