// Operators over sequences that hand a state of fixed size from one call to the next.
#include "dialect/scalar/Formulas.h"
#include "frontend/common/Products.h"
#include "frontend/onnx/import/ops/sequences/AttentionParts.h"

using namespace mlir;

namespace headrace::onnx {

/// Longer filters and sequences would become programs of as many steps.
static constexpr int64_t kMaxSteps = 256;

/// A convolution of each channel with its own filter that sees the past alone: the state is the
/// last elements of the sequence, one less than the filter has.
static void importCausalConv(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats), filter = c.input(1);
  c.checkRank(0, 3);
  c.checkRank(1, 3);
  c.checkSameType(0, 1);
  SymbolicShape shape = c.shape(0), window = c.shape(1);
  auto taps = constantValue(window[2]);
  if (!taps || *taps < 1 || !sameSize(window[0], shape[1]) || constantValue(window[1]) != 1)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected a filter of [{1}, 1, known size], got {2}",
           c.nameOfInput(1), c.text({shape[1]}), c.text(window));
  if (*taps > kMaxSteps)
    c.fail(ErrorKind::Unsupported, "{0}: expected a filter of up to {1} elements, got {2}",
           c.nameOfInput(1), kMaxSteps, *taps);
  AffineExpr past = c.dim(*taps - 1);
  Type type = elementTypeOf(input);
  Value state = c.has(3) ? c.input(3, Accepts::Floats)
                         : c.broadcast(c.scalar(0, type), {shape[0], shape[1], past});
  if (c.has(3) && !llvm::equal(shapeOf(state), SymbolicShape{shape[0], shape[1], past}))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(3),
           c.text({shape[0], shape[1], past}), c.text(shapeOf(state)));
  Value whole = concat(c, {state, input}, 2);

  // Each tap is a slice times one number per channel: as many maps as the filter is long (3 or 4).
  Type inner = innerType(type);
  SmallVector<Value> inputs;
  for (int64_t tap = 0; tap < *taps; ++tap)
    inputs.push_back(part(c, whole, 2, c.dim(tap), shape[2]));
  for (int64_t tap = 0; tap < *taps; ++tap)
    inputs.push_back(c.reshape(part(c, filter, 2, c.dim(tap), c.dim(1)), {shape[1], c.dim(1)}));
  if (c.has(2)) {
    c.checkRank(2, 1);
    inputs.push_back(c.reshape(c.input(2, Accepts::Floats), {c.shape(2)[0], c.dim(1)}));
  }
  bool isSwish = oneOf(c, "activation", "none", {"none", "silu", "swish"}) != "none";
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value sum;
    for (int64_t tap = 0; tap < *taps; ++tap) {
      Value term = m.mul(m.convert(x[tap], inner), m.convert(x[*taps + tap], inner));
      sum = sum ? m.add(sum, term) : term;
    }
    if (c.has(2))
      sum = m.add(sum, m.convert(x.back(), inner));
    return m.convert(isSwish ? m.mul(sum, formulas::sigmoid(m, sum)) : sum, type);
  }));
  c.result(part(c, whole, 2, shape[2], past), 1);
}

/// Attention whose memory is a matrix: at each step it decays, takes up a key and value, and is
/// read by a query. Steps are written one after the other.
static void importLinearAttention(NodeContext &c) {
  std::string rule =
      oneOf(c, "update_rule", "gated_delta", {"linear", "gated", "delta", "gated_delta"});
  bool decays = rule == "gated" || rule == "gated_delta";
  bool corrects = rule == "delta" || rule == "gated_delta";
  if (decays != c.has(4) || corrects != c.has(5))
    c.fail(ErrorKind::InvalidModel, "update rule '{0}': expected decay {1} and beta {2}", rule,
           decays ? "given" : "absent", corrects ? "given" : "absent");
  int64_t heads = c.node.getInt("q_num_heads", 0), shared = c.node.getInt("kv_num_heads", 0);
  if (heads < 1 || heads > kMaxHeads || shared < 1 || heads % shared != 0)
    c.fail(ErrorKind::InvalidModel,
           "expected heads of queries to be a multiple of those of keys, "
           "got {0} and {1}",
           heads, shared);
  Type type = c.type(0).getElementType(), inner = innerType(type);
  auto apart = [&](size_t i, int64_t count) {
    Value x = c.cast(c.input(i, Accepts::Floats), inner);
    return apartHeads(c, x, count, c.nameOfInput(i).c_str());
  };
  Value query = apart(0, heads), key = apart(1, shared), value = apart(2, shared);
  SymbolicShape shape = shapeOf(query);
  AffineExpr batch = shape[0], depth = shape[3], width = shapeOf(value)[3];
  auto steps = constantValue(shape[2]);
  if (!steps || *steps > kMaxSteps)
    c.fail(ErrorKind::Unsupported, "expected a sequence of known length up to {0}, got {1}",
           kMaxSteps, c.text({shape[2]}));
  Value decay, beta;
  if (decays)
    decay = apart(4, shared); // a number for each head, or for each of its keys' numbers
  if (corrects)
    beta = apart(5, constantValue(c.shape(5).back()) == 1 ? 1 : shared);

  SymbolicShape memoryShape{batch, c.dim(shared), depth, width};
  Type stateType = c.has(3) ? c.type(3).getElementType() : type;
  Value memory = c.has(3) ? c.cast(c.input(3, Accepts::Floats), inner)
                          : c.broadcast(c.scalar(0, inner), memoryShape);
  if (!llvm::equal(shapeOf(memory), memoryShape))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(3),
           c.text(memoryShape), c.text(shapeOf(memory)));
  double scale = c.node.getFloat("scale", 0);
  if (scale == 0)
    scale = defaultScale(c, query);

  auto at = [&](Value x, int64_t step) { // [batch, heads, numbers]
    SymbolicShape all = shapeOf(x);
    return c.reshape(part(c, x, 2, c.dim(step), c.dim(1)), {all[0], all[1], all[3]});
  };
  auto asColumn = [&](Value x) {
    SymbolicShape all = shapeOf(x);
    all.push_back(c.dim(1));
    return c.reshape(x, all);
  };
  int64_t group = heads / shared;
  SmallVector<Value> results;
  for (int64_t step = 0; step < *steps; ++step) {
    Value k = at(key, step), v = at(value, step);
    if (decays)
      memory = c.map({memory, asColumn(at(decay, step))},
                     [](ScalarMath &m, ValueRange x) { return m.mul(x[0], m.exp(x[1])); });
    if (corrects) {
      Value found = contract(c, memory, k, "bhdm", "bhd", "bhm");
      v = multiply(c, at(beta, step), subtract(c, v, found));
    }
    SymbolicShape row{batch, c.dim(shared), c.dim(1), width};
    memory = c.map({memory, asColumn(k), c.reshape(v, row)},
                   [](ScalarMath &m, ValueRange x) { return m.add(x[0], m.mul(x[1], x[2])); });
    Value q = c.reshape(at(query, step), {batch, c.dim(shared), c.dim(group), depth});
    Value read = scaled(c, contract(c, q, memory, "bhgd", "bhdm", "bhgm"), scale);
    results.push_back(c.reshape(read, {batch, c.dim(1), c.dim(heads) * width}));
  }
  if (results.empty())
    results.push_back(c.broadcast(c.scalar(0, inner), {batch, c.dim(0), c.dim(heads) * width}));
  c.result(c.cast(concat(c, results, 1), type));
  c.result(c.cast(memory, stateType), 1);
}

OperatorFamily sequenceOperators() {
  static const Operator table[] = {
      {"CausalConvWithState", 27, importCausalConv},
      {"LinearAttention", 27, importLinearAttention},
  };
  return table;
}

} // namespace headrace::onnx
