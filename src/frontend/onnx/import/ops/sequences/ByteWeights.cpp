#include "frontend/onnx/import/ops/sequences/ByteWeights.h"

using namespace mlir;

namespace headrace::onnx {

/// Unsigned bytes are seen as signed ones, 128 less.
static constexpr int64_t kMiddle = 128;

static bool isUnsigned(NodeContext &c, size_t i) {
  return c.type(i).getElementType().isUnsignedInteger();
}

/// Input `i` for each column: it has a number for each direction, or for each of its columns.
static Value perColumn(NodeContext &c, size_t i, AffineExpr directions, AffineExpr columns) {
  SymbolicShape each{directions, columns}, found = c.shape(i);
  bool isOne = found.size() == 1;
  if (found.empty() || found.size() > 2 || !sameSize(found[0], directions) ||
      (!isOne && !sameSize(found[1], columns)))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} or {2}, got {3}", c.nameOfInput(i),
           c.text({directions}), c.text(each), c.text(found));
  if (!isOne)
    return c.input(i);
  return c.broadcast(c.reshape(c.input(i), {directions, c.dim(1)}), each);
}

/// The zero points of the weights as signed integers, in 32 bits; null if all are known to be 0.
static Value signedZeroPoints(NodeContext &c, size_t i, size_t at, AffineExpr directions,
                              AffineExpr columns) {
  Type wide = c.builder.getI32Type();
  int64_t middle = isUnsigned(c, i) ? kMiddle : 0;
  if (!c.has(at))
    return middle == 0
               ? Value()
               : c.broadcast(c.scalar(static_cast<double>(-middle), wide), {directions, columns});
  c.checkSameType(i, at);
  if (const Tensor &known = c.constant(at)) {
    Tensor numbers = known.converted(DType::I64);
    if (llvm::all_of(ArrayRef(numbers.as<int64_t>(), numbers.elements()),
                     [&](int64_t number) { return number == middle; }))
      return nullptr;
  }
  return c.map(perColumn(c, at, directions, columns), [&](ScalarMath &m, ValueRange x) {
    return m.sub(m.convert(x[0], wide), m.numberOf(wide, static_cast<double>(middle)));
  });
}

ByteWeights readByteWeights(NodeContext &c, size_t i, size_t scaleAt, Type real) {
  Value given = c.input(i, Accepts::Integers);
  if (c.type(i).getElementType().getIntOrFloatBitWidth() != 8)
    c.fail(ErrorKind::TypeMismatch, "{0}: expected 8-bit integers, got {1}", c.nameOfInput(i),
           typeText(c.type(i).getElementType()));
  SymbolicShape shape = c.shape(i), row{shape[0], c.dim(1), shape[2]};
  Type byte = c.builder.getI8Type(), wide = c.builder.getI32Type();
  ByteWeights weights;
  weights.numbers = given;
  if (isUnsigned(c, i))
    weights.numbers = c.map(given, [&](ScalarMath &m, ValueRange x) {
      Value number = m.convert(x[0], wide);
      return m.convert(m.sub(number, m.number(number, kMiddle)), byte);
    });
  weights.scales = c.cast(perColumn(c, scaleAt, shape[0], shape[2]), real);
  weights.zeroPoints = signedZeroPoints(c, i, scaleAt + 1, shape[0], shape[2]);
  SmallVector<Value> terms{weights.numbers};
  if (weights.zeroPoints)
    terms.push_back(c.reshape(weights.zeroPoints, row));
  Value moved = c.map(terms, [&](ScalarMath &m, ValueRange x) {
    Value number = m.convert(x[0], wide);
    return x.size() > 1 ? m.sub(number, x[1]) : number;
  });
  weights.sums = c.reduce(hr::ReduceKind::Sum, moved, {1}, /*keepDims=*/false);
  return weights;
}

Value numberOfSum(ScalarMath &m, const ByteSum &sum) {
  Type wide = sum.products.getType();
  Value exact = m.sub(sum.products, m.mul(m.convert(sum.zeroPoint, wide), sum.sums));
  if (sum.zeroPoints)
    exact = m.sub(exact, m.mul(sum.zeroPoints, sum.factor));
  return m.mul(m.convert(exact, sum.scale.getType()), m.mul(sum.scale, sum.scales));
}

Value besideEachOther(NodeContext &c, Value weights, int64_t gates) {
  constexpr int64_t kBytesOfProduct = 4;
  SymbolicShape shape = shapeOf(weights);
  std::optional<int64_t> terms = constantValue(shape[0]), columns = constantValue(shape[1]);
  int64_t count = terms && columns && *terms % kBytesOfProduct == 0 ? kBytesOfProduct : 1;
  AffineExpr groups = count == 1 ? shape[0] : c.dim(*terms / count);
  AffineExpr hidden = columns ? c.dim(*columns / gates) : shape[0];
  return c.transpose(c.reshape(weights, {groups, c.dim(count), c.dim(gates), hidden}),
                     {0, 2, 3, 1});
}

} // namespace headrace::onnx
