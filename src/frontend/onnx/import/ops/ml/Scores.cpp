#include "frontend/onnx/import/ops/ml/Scores.h"

#include "dialect/scalar/Formulas.h"
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/ops/Composing.h"
#include "runtime/system/Text.h"

using namespace mlir;

namespace headrace::onnx {

Value featureRows(NodeContext &c, Type type) {
  Value input = c.input(0, Accepts::Numbers);
  SymbolicShape shape = c.shape(0);
  if (shape.empty() || shape.size() > 2)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rows of features, got {1}", c.nameOfInput(0),
           c.text(shape));
  if (shape.size() == 1)
    input = c.reshape(input, {c.dim(1), shape[0]});
  return c.cast(input, type);
}

Value withFeatures(NodeContext &c, Value tensor, int64_t count, size_t i) {
  SymbolicShape shape = shapeOf(tensor);
  if (shape.empty() || constantValue(shape.back()).value_or(count) != count)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} features, got {2}", c.nameOfInput(i), count,
           c.text(shape));
  if (constantValue(shape.back()))
    return tensor;
  AffineExpr free = shape.back();
  c.requireNonNegative(free - count, "features less those of the model");
  c.requireNonNegative(c.dim(count) - free, "features of the model less those of the rows");
  shape.back() = c.dim(count);
  SymbolicShape starts(shape.size(), c.dim(0));
  return c.slice(tensor, starts, shape, SmallVector<int64_t>(shape.size(), 1));
}

template <class T>
static Tensor listOf(DType dtype, const std::vector<T> &numbers, const Shape &shape) {
  Tensor result = Tensor::allocate(dtype, shape);
  std::copy(numbers.begin(), numbers.end(), result.as<T>());
  return result;
}

Value floatConstant(NodeContext &c, const std::vector<double> &numbers, Shape shape, Type type) {
  return c.OperatorBuilder::constant(listOf(DType::F64, numbers, shape).converted(toDType(type)));
}

Value integerConstant(NodeContext &c, const std::vector<int64_t> &numbers) {
  return c.OperatorBuilder::constant(
      listOf(DType::I64, numbers, {static_cast<int64_t>(numbers.size())}));
}

Value indexConstant(NodeContext &c, const std::vector<int32_t> &numbers, Shape shape) {
  return c.OperatorBuilder::constant(listOf(DType::I32, numbers, shape));
}

std::vector<double> floatsAttribute(NodeContext &c, const std::string &name) {
  if (const Attribute *given = c.node.find(name + "_as_tensor")) {
    if (given->kind != Attribute::Tensor || given->stringTensor)
      c.fail(ErrorKind::InvalidModel, "attribute '{0}_as_tensor': expected a tensor of floats",
             name);
    Tensor wide = given->tensor.converted(DType::F64);
    return {wide.as<double>(), wide.as<double>() + wide.elements()};
  }
  std::vector<float> list = c.node.getFloats(name);
  return {list.begin(), list.end()};
}

void checkLength(NodeContext &c, const std::string &attribute, size_t found, size_t expected) {
  if (found != expected)
    c.fail(ErrorKind::InvalidModel, "attribute '{0}': expected {1} elements, got {2}", attribute,
           expected, found);
}

//===--------------------------------------------------------------------------===//
// Transforms
//===--------------------------------------------------------------------------===//

PostTransform postTransform(NodeContext &c) {
  constexpr const char *kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  std::string name = oneOf(c, "post_transform", "NONE", kNames);
  return static_cast<PostTransform>(llvm::find(kNames, name) - std::begin(kNames));
}

/// The quantile of the normal distribution, through Winitzki's inverse of the error function, which
/// is what ONNX Runtime takes.
static Value probit(ScalarMath &m, Value score) {
  constexpr double a = 0.147, pi = 3.14159;
  Value one = m.number(score, 1);
  Value x = m.sub(m.mul(m.number(score, 2), score), one);
  Value log = m.op<math::LogOp>(m.mul(m.sub(one, x), m.add(one, x)));
  Value v = m.add(m.number(x, 2 / (pi * a)), m.mul(m.number(x, 0.5), log));
  Value root = m.op<math::SqrtOp>(m.sub(m.mul(v, v), m.mul(m.number(x, 1 / a), log)));
  Value size = m.op<math::SqrtOp>(m.sub(root, v));
  Value signedSize = m.select(m.isNegative(x), m.neg(size), size);
  return m.mul(m.number(x, 1.41421356), signedSize);
}

/// Scores that are 0 stay so and take no part.
static Value softmaxZero(NodeContext &c, Value scores) {
  constexpr double kZero = 1e-7;
  Value largest = c.reduce(hr::ReduceKind::Max, scores, 1, /*keepDims=*/true);
  auto isZero = [](ScalarMath &m, Value x) {
    return m.compare(ScalarMath::Compare::LessOrEqual, m.abs(x), m.number(x, kZero));
  };
  Value powers = c.map({scores, largest}, [&](ScalarMath &m, ValueRange x) {
    return m.select(isZero(m, x[0]), m.number(x[0], 0), m.exp(m.sub(x[0], x[1])));
  });
  Value sum = c.reduce(hr::ReduceKind::Sum, powers, 1, /*keepDims=*/true);
  return divide(c, powers, sum);
}

Value transformed(NodeContext &c, Value scores, PostTransform transform) {
  switch (transform) {
  case PostTransform::None:
    return scores;
  case PostTransform::Softmax:
    return c.infer<hr::SoftmaxOp>(scores, 1, /*log=*/false);
  case PostTransform::SoftmaxZero:
    return softmaxZero(c, scores);
  case PostTransform::Logistic:
    return c.map({scores}, [](ScalarMath &m, ValueRange x) { return formulas::sigmoid(m, x[0]); });
  case PostTransform::Probit:
    return c.map({scores}, [](ScalarMath &m, ValueRange x) { return probit(m, x[0]); });
  }
  throw InternalError("unknown transform of scores");
}

Value scorePair(NodeContext &c, Value scores, FirstClass first, PostTransform transform) {
  bool isLogistic = transform == PostTransform::Logistic;
  Value other = c.map({scores}, [&](ScalarMath &m, ValueRange x) {
    bool negates = isLogistic || first == FirstClass::Negated;
    return m.sub(m.number(x[0], negates ? 0 : 1), x[0]);
  });
  Value pair = concat(c, {other, scores}, 1);
  bool changes = isLogistic || transform == PostTransform::Probit;
  return changes ? transformed(c, pair, transform) : pair;
}

//===--------------------------------------------------------------------------===//
// Labels
//===--------------------------------------------------------------------------===//

std::vector<int64_t> classLabels(NodeContext &c, const char *attribute) {
  std::vector<int64_t> labels = c.node.getInts(attribute);
  if (labels.empty())
    c.fail(ErrorKind::InvalidModel, "expected labels in '{0}' or 'classlabels_strings', got none",
           attribute);
  return labels;
}

Value labelOfLargest(NodeContext &c, Value scores, const std::vector<int64_t> &labels) {
  SymbolicShape domain = shapeOf(scores);
  Value largest = c.reduce(hr::ReduceKind::Max, scores, 1, /*keepDims=*/true);
  AffineExpr row = getAffineDimExpr(0, c.context);
  Compute first{domain,
                1,
                hr::ReduceKind::Min,
                {{scores, dimensions(c, 0, 2)}, {largest, {row, c.dim(0)}}},
                {}};
  auto count = static_cast<int64_t>(labels.size());
  Value place = writeCompute(c, first, [&](PointMath &m) {
    Value isHere = m.either(m.equal(m.read(0), m.read(1)), m.isNaN(m.read(0)));
    return m.select(isHere, m.position(1), m.integer(count));
  });
  Compute named{{domain[0]}, 0, {}, {{place, {row}}}, {integerConstant(c, labels)}};
  return writeCompute(c, named, [](PointMath &m) { return m.element(0, {m.read(0)}); });
}

Value labelAbove(NodeContext &c, Value scores, double threshold,
                 const std::vector<int64_t> &labels) {
  Value rows = c.reshape(scores, {shapeOf(scores)[0]});
  return c.map({rows}, [&](ScalarMath &m, ValueRange x) {
    Value isAbove = m.compare(ScalarMath::Compare::Greater, x[0], m.number(x[0], threshold));
    Type type = c.builder.getI64Type();
    auto label = [&](int64_t number) {
      return m.op<arith::ConstantOp>(c.builder.getIntegerAttr(type, number));
    };
    return m.select(isAbove, label(labels[1]), label(labels[0]));
  });
}

} // namespace headrace::onnx
