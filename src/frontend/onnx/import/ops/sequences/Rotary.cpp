#include "frontend/onnx/import/ops/sequences/Rotary.h"

#include "frontend/onnx/import/ops/sequences/AttentionParts.h"

using namespace mlir;

namespace headrace::onnx {

Value rotated(NodeContext &c, Value x, Value cosines, Value sines, bool interleaved) {
  SymbolicShape shape = shapeOf(x), angles = shapeOf(cosines);
  AffineExpr pairs = angles.back(), width = pairs * 2, rest = shape[3] - width;
  if (angles.size() != 3 || !llvm::equal(angles, shapeOf(sines)))
    c.fail(ErrorKind::ShapeMismatch, "expected cosines and sines of one shape, got {0} and {1}",
           c.text(angles), c.text(shapeOf(sines)));
  c.requireNonNegative(rest, "elements of a head that are not rotated");
  Value first = interleaved ? part(c, x, 3, c.dim(0), pairs, 2) : part(c, x, 3, c.dim(0), pairs);
  Value second = interleaved ? part(c, x, 3, c.dim(1), pairs, 2) : part(c, x, 3, pairs, pairs);
  SymbolicShape perHead{angles[0], c.dim(1), angles[1], pairs};
  Type type = elementTypeOf(x);
  cosines = c.cast(c.reshape(cosines, perHead), type);
  sines = c.cast(c.reshape(sines, perHead), type);
  Value real = c.map({first, second, cosines, sines}, [](ScalarMath &m, ValueRange v) {
    return m.sub(m.mul(v[2], v[0]), m.mul(v[3], v[1]));
  });
  Value imaginary = c.map({first, second, cosines, sines}, [](ScalarMath &m, ValueRange v) {
    return m.add(m.mul(v[3], v[0]), m.mul(v[2], v[1]));
  });
  SmallVector<Value> parts{real, imaginary};
  if (interleaved) {
    SymbolicShape apart = withDim(shape, 3, pairs), whole = withDim(shape, 3, width);
    apart.push_back(c.dim(1));
    Value both = concat(c, {c.reshape(real, apart), c.reshape(imaginary, apart)}, 4);
    parts = {c.reshape(both, whole)};
  }
  if (constantValue(rest) != 0)
    parts.push_back(part(c, x, 3, width, rest));
  return concat(c, parts, 3);
}

/// Rows of a cache [positions, pairs] for each position, or the cache as it is [batch, length,
/// pairs].
static Value anglesAt(NodeContext &c, size_t cache) {
  Value table = c.input(cache, Accepts::Floats);
  if (!c.has(3)) {
    c.checkRank(cache, 3);
    return table;
  }
  c.checkRank(cache, 2);
  c.checkRank(3, 2);
  AffineExpr size = c.shape(cache)[0];
  return c.infer<hr::GatherOp>(table, c.checkedIndices(indices(c, 3), c.dim(0), size), 0);
}

static void importRotaryEmbedding(NodeContext &c) {
  Value x = c.input(0, Accepts::Floats);
  bool isJoined = c.rank(0) == 3;
  if (isJoined)
    x = apartHeads(c, x, c.node.getInt("num_heads", 0), c.nameOfInput(0).c_str());
  else
    c.checkRank(0, 4);
  Value cosines = anglesAt(c, 1), sines = anglesAt(c, 2);
  int64_t stated = c.node.getInt("rotary_embedding_dim", 0);
  AffineExpr expected = stated == 0 ? shapeOf(x)[3] : c.dim(stated);
  if (!sameSize(shapeOf(cosines).back() * 2, expected))
    c.fail(ErrorKind::ShapeMismatch,
           "{0}: expected an angle for each pair of {1} elements, got {2}", c.nameOfInput(1),
           c.text({expected}), c.text({shapeOf(cosines).back()}));
  Type type = elementTypeOf(x);
  Value turned = c.cast(
      rotated(c, c.cast(x, innerType(type)), cosines, sines, c.node.getInt("interleaved", 0) != 0),
      type);
  c.result(isJoined ? joinHeads(c, turned) : turned);
}

OperatorFamily rotaryOperators() {
  static const Operator table[] = {{"RotaryEmbedding", 23, importRotaryEmbedding}};
  return table;
}

} // namespace headrace::onnx
