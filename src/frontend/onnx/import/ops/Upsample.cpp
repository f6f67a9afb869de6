// Upsample, the operator before Resize: images grow by scales, position i of the result stands for
// i / scale of the input.
#include "frontend/onnx/import/ops/Composing.h"

#include <cmath>

using namespace mlir;

namespace headrace::onnx {

/// Scales are attributes for height and width, one attribute, then an input.
static std::vector<float> scalesOf(NodeContext &c) {
  std::vector<float> scales;
  if (c.node.find("height_scale")) {
    scales.assign(std::max<int64_t>(c.rank(0) - 2, 0), 1);
    scales.push_back(c.node.getFloat("height_scale", 1));
    scales.push_back(c.node.getFloat("width_scale", 1));
  } else if (const Attribute *list = c.node.find("scales")) {
    scales = list->floats;
  } else if (c.has(1) && c.constant(1)) {
    Tensor numbers = c.constant(1).converted(DType::F32);
    scales.assign(numbers.as<float>(), numbers.as<float>() + numbers.elements());
  } else {
    c.fail(ErrorKind::Unsupported, "expected constant scales, found none");
  }
  if (static_cast<int64_t>(scales.size()) != c.rank(0) ||
      llvm::any_of(scales, [](float scale) { return !(scale >= 1 && scale < 1e6f); }))
    c.fail(ErrorKind::InvalidModel, "expected {0} scales of 1 or more", c.rank(0));
  return scales;
}

static Value repeated(NodeContext &c, Value x, int64_t axis, int64_t times) {
  SymbolicShape shape = shapeOf(x), apart = shape;
  apart.insert(apart.begin() + axis + 1, c.dim(1));
  Value single = c.reshape(x, apart);
  apart[axis + 1] = c.dim(times);
  shape[axis] = shape[axis] * times;
  return c.reshape(c.broadcast(single, apart), shape);
}

/// Elements of an axis of known size at positions that are known, too.
static Value taken(NodeContext &c, Value x, int64_t axis, ArrayRef<int64_t> positions) {
  Tensor places = Tensor::allocate(DType::I64, {static_cast<int64_t>(positions.size())});
  llvm::copy(positions, places.as<int64_t>());
  return c.infer<hr::GatherOp>(x, createConstant(c.builder, c.loc, places), axis);
}

/// Positions of each element are constants.
static constexpr int64_t kMostPositions = int64_t(1) << 24;

static Value grown(NodeContext &c, Value x, int64_t axis, float scale, bool isLinear) {
  auto whole = static_cast<int64_t>(scale);
  auto size = constantValue(shapeOf(x)[axis]);
  if (!isLinear && static_cast<float>(whole) == scale)
    return repeated(c, x, axis, whole);
  if (!size || *size < 1)
    c.fail(ErrorKind::Unsupported, "a scale of {0} for the free size {1} is not supported", scale,
           c.text({shapeOf(x)[axis]}));
  auto count =
      static_cast<int64_t>(std::floor(static_cast<double>(*size) * static_cast<double>(scale)));
  if (count > kMostPositions)
    c.fail(ErrorKind::Unsupported, "expected a size of at most 2^24, found {0}", count);
  SmallVector<int64_t> low, high;
  Tensor weights = Tensor::allocate(DType::F32, {count});
  for (int64_t i = 0; i < count; ++i) {
    float at = static_cast<float>(i) / scale;
    low.push_back(std::min(static_cast<int64_t>(at), *size - 1));
    high.push_back(std::min(low.back() + 1, *size - 1));
    weights.as<float>()[i] = at - static_cast<float>(low.back());
  }
  Value first = taken(c, x, axis, low);
  if (!isLinear)
    return first;
  SymbolicShape along(shapeOf(x).size() - axis, c.dim(1));
  along[0] = c.dim(count);
  Value weight =
      c.cast(c.reshape(createConstant(c.builder, c.loc, weights), along), elementTypeOf(x));
  return c.map({first, taken(c, x, axis, high), weight}, [](ScalarMath &m, ValueRange v) {
    return m.add(m.mul(v[0], m.sub(m.number(v[2], 1), v[2])), m.mul(v[1], v[2]));
  });
}

static void importUpsample(NodeContext &c) {
  bool isLinear = oneOf(c, "mode", "nearest", {"nearest", "linear", "bilinear"}) != "nearest";
  Value x = c.input(0, isLinear ? Accepts::Floats : Accepts::Any);
  Type type = elementTypeOf(x);
  if (isLinear)
    x = c.cast(x, innerType(type));
  for (auto [axis, scale] : llvm::enumerate(scalesOf(c)))
    if (scale != 1)
      x = grown(c, x, static_cast<int64_t>(axis), scale, isLinear);
  c.result(c.cast(x, type));
}

OperatorFamily upsampleOperators() {
  static const Operator table[] = {{"Upsample", 1, importUpsample}};
  return table;
}

} // namespace headrace::onnx
