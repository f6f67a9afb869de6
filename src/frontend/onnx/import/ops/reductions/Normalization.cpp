// Normalization and softmax.
#include "frontend/onnx/import/ops/reductions/Normalization.h"

using namespace mlir;

namespace headrace::onnx {

/// The widest type of the first inputs: parameters may be wider than what they normalize.
static Type widestType(NodeContext &c, size_t inputs) {
  Type widest = elementTypeOf(c.input(0, Accepts::Floats));
  for (size_t i = 1; i < inputs; ++i)
    if (c.has(i))
      if (Type type = elementTypeOf(c.input(i, Accepts::Floats));
          type.getIntOrFloatBitWidth() > widest.getIntOrFloatBitWidth())
        widest = type;
  return widest;
}

Statistics statistics(NodeContext &c, Value x, ArrayRef<int64_t> axes) {
  Value mean = c.reduce(hr::ReduceKind::Mean, x, axes, true);
  Value squares = c.map({x, mean}, [](ScalarMath &m, ValueRange v) {
    Value difference = m.sub(v[0], v[1]);
    return m.mul(difference, difference);
  });
  return {mean, c.reduce(hr::ReduceKind::Mean, squares, axes, true)};
}

Value inverseDeviation(NodeContext &c, Value variance, double epsilon) {
  return c.map(variance, [&](ScalarMath &m, ValueRange v) {
    Value deviation = m.op<math::SqrtOp>(m.add(v[0], m.number(v[0], epsilon)));
    return m.div(m.number(v[0], 1), deviation);
  });
}

//===--------------------------------------------------------------------------===//
// Batch normalization
//===--------------------------------------------------------------------------===//

/// Before version 14 outputs for statistics ask for training; before version 7 an attribute denies
/// it.
static bool isTraining(NodeContext &c) {
  if (c.opset >= 14)
    return c.node.getInt("training_mode", 0) != 0;
  bool hasOutputs = llvm::any_of(ArrayRef(c.node.outputs).drop_front(),
                                 [](const std::string &name) { return !name.empty(); });
  return hasOutputs && c.node.getInt("is_test", 0) == 0;
}

/// Before version 9 an attribute may ask for statistics of each position of the image.
static bool isPerChannel(NodeContext &c) { return c.node.getInt("spatial", 1) != 0; }

/// Statistics of the batch for each channel or position, and the running ones with a part of them.
static SmallVector<Value> trainedStatistics(NodeContext &c, ArrayRef<Value> operands) {
  SmallVector<int64_t> others{0};
  SymbolicShape shape = c.shape(0);
  if (isPerChannel(c)) {
    llvm::append_range(others, llvm::seq<int64_t>(2, c.rank(0)));
    shape.truncate(2);
  }
  shape.erase(shape.begin());
  Statistics found = statistics(c, operands[0], others);
  double momentum = c.node.getFloat("momentum", 0.9f);
  SmallVector<Value> all{c.reshape(found.mean, shape), c.reshape(found.variance, shape)};
  for (size_t i : {0, 1})
    all.push_back(c.map({operands[3 + i], all[i]}, [&](ScalarMath &m, ValueRange x) {
      return m.add(m.mul(x[0], m.number(x[0], momentum)),
                   m.mul(x[1], m.number(x[1], 1 - momentum)));
    }));
  return all;
}

/// The input, scale, bias, mean and variance, of which all but the first have the shape of one
/// element of the batch.
static Value normalizedByPosition(NodeContext &c, ArrayRef<Value> operands, double epsilon) {
  for (size_t i = 1; i <= 4; ++i)
    if (!llvm::equal(c.shape(i), ArrayRef(c.shape(0)).drop_front(), sameSize))
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1}, got {2}", c.nameOfInput(i),
             c.text(ArrayRef(c.shape(0)).drop_front()), c.text(c.shape(i)));
  Value factor = multiply(c, operands[1], inverseDeviation(c, operands[4], epsilon));
  return add(c, multiply(c, subtract(c, operands[0], operands[3]), factor), operands[2]);
}

static void importBatchNorm(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  Type inner = widestType(c, 5);
  SmallVector<Value> operands;
  for (size_t i = 0; i <= 4; ++i)
    operands.push_back(c.cast(c.input(i, Accepts::Floats), inner));
  if (isTraining(c)) {
    if (c.rank(0) < 2)
      c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 2 or more, got {1}", c.nameOfInput(0),
             c.text(c.shape(0)));
    SmallVector<Value> found = trainedStatistics(c, operands);
    for (size_t i : {0, 1}) {
      c.result(c.cast(found[2 + i], c.type(3 + i).getElementType()), 1 + i);
      c.result(c.cast(found[i], c.type(3 + i).getElementType()), 3 + i);
      operands[3 + i] = found[i];
    }
  }
  double epsilon = c.node.getFloat("epsilon", 1e-5f);
  Value normal = isPerChannel(c)
                     ? c.infer<hr::BatchNormOp>(
                           operands[0], operands[1], operands[2], operands[3], operands[4],
                           c.builder.getF64FloatAttr(epsilon),
                           hr::ChannelLayoutAttr::get(c.context, hr::ChannelLayout::First))
                     : normalizedByPosition(c, operands, epsilon);
  c.result(c.cast(normal, elementTypeOf(input)));
}

//===--------------------------------------------------------------------------===//
// Normalization over the axes from one on
//===--------------------------------------------------------------------------===//

SmallVector<int64_t> axesFrom(NodeContext &c) {
  return llvm::to_vector(
      llvm::seq<int64_t>(c.axis(c.node.getInt("axis", -1), c.rank(0)), c.rank(0)));
}

static Value layerNorm(NodeContext &c, Value input, Value scale, Value bias, int64_t axis) {
  return c.infer<hr::LayerNormOp>(input, scale, bias, c.builder.getI64IntegerAttr(axis),
                                  c.builder.getF64FloatAttr(c.node.getFloat("epsilon", 1e-5f)));
}

/// Mean and inverse deviation are outputs 1 and 2, in the type that `stash_type` names.
static void resultStatistics(NodeContext &c, Value mean, Value inverse) {
  Type type = typeAttribute(c, "stash_type");
  if (!type || !isPlainFloat(type))
    type = c.builder.getF32Type();
  c.result(c.cast(mean, type), 1);
  c.result(c.cast(inverse, type), 2);
}

static void importLayerNorm(NodeContext &c) {
  Type type = c.type(0).getElementType(), inner = innerType(widestType(c, 3));
  Value input = c.cast(c.input(0), inner);
  Value scale = c.cast(c.input(1), inner);
  Value bias = c.has(2) ? c.cast(c.input(2), inner) : Value();
  SmallVector<int64_t> axes = axesFrom(c);
  auto isNormal = [&](Value parameter) { // what the operator takes: of the axes' shape
    return !parameter ||
           llvm::equal(shapeOf(parameter), ArrayRef(c.shape(0)).take_back(axes.size()));
  };
  bool wantsMore = llvm::any_of(ArrayRef(c.node.outputs).drop_front(),
                                [](const std::string &name) { return !name.empty(); });
  if (!wantsMore && isNormal(scale) && isNormal(bias))
    return c.result(c.cast(layerNorm(c, input, scale, bias, axes.front()), type));
  Statistics found = statistics(c, input, axes);
  Value inverse = inverseDeviation(c, found.variance, c.node.getFloat("epsilon", 1e-5f));
  SmallVector<Value> inputs{input, found.mean, inverse, scale};
  if (bias)
    inputs.push_back(bias);
  c.result(c.map(inputs, [&](ScalarMath &m, ValueRange x) {
    Value normal = m.mul(m.mul(m.sub(x[0], x[1]), x[2]), x[3]);
    return m.convert(bias ? m.add(normal, x[4]) : normal, type);
  }));
  resultStatistics(c, found.mean, inverse);
}

RootMeanSquare rootMeanSquare(NodeContext &c, Value x, Value scale, ArrayRef<int64_t> axes,
                              double epsilon) {
  Value squares = c.map(x, [](ScalarMath &m, ValueRange v) { return m.mul(v[0], v[0]); });
  Value mean = c.reduce(hr::ReduceKind::Mean, squares, axes, true);
  Value inverse = inverseDeviation(c, mean, epsilon);
  Value normal = c.map({x, inverse, scale},
                       [](ScalarMath &m, ValueRange v) { return m.mul(m.mul(v[0], v[1]), v[2]); });
  return {normal, inverse};
}

/// The standard's, and ONNX Runtime's SimplifiedLayerNormalization, which has the inverse of the
/// root as its second output.
static void importRmsNorm(NodeContext &c) {
  Type inner = innerType(widestType(c, 2));
  Value x = c.cast(c.input(0, Accepts::Floats), inner), scale = c.cast(c.input(1), inner);
  RootMeanSquare found =
      rootMeanSquare(c, x, scale, axesFrom(c), c.node.getFloat("epsilon", 1e-5f));
  c.result(c.cast(found.normal, c.type(1).getElementType()));
  c.result(found.inverse, 1);
}

/// Divided by the sum of magnitudes, or by the root of the sum of squares; 0 if that is 0.
static void importLpNorm(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  Type type = elementTypeOf(input);
  int64_t p = c.node.getInt("p", 2);
  if (p != 1 && p != 2)
    c.fail(ErrorKind::InvalidModel, "attribute 'p': expected 1 or 2, got {0}", p);
  Value x = c.cast(input, innerType(type));
  Value terms = c.map(
      x, [&](ScalarMath &m, ValueRange v) { return p == 1 ? m.abs(v[0]) : m.mul(v[0], v[0]); });
  Value sum =
      c.reduce(hr::ReduceKind::Sum, terms, {c.axis(c.node.getInt("axis", -1), c.rank(0))}, true);
  c.result(c.map({x, sum}, [&](ScalarMath &m, ValueRange v) {
    Value zero = m.number(v[0], 0), norm = p == 1 ? v[1] : m.op<math::SqrtOp>(v[1]);
    Value isZero = m.compare(ScalarMath::Compare::Equal, norm, zero);
    return m.convert(m.select(isZero, zero, m.div(v[0], norm)), type);
  }));
}

static void importMeanVariance(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  Type type = elementTypeOf(input);
  SmallVector<int64_t> axes = c.axes(c.node.getInts("axes", {0, 2, 3}), c.rank(0));
  llvm::sort(axes);
  Value x = c.cast(input, innerType(type));
  Statistics found = statistics(c, x, axes);
  c.result(c.map({x, found.mean, found.variance}, [&](ScalarMath &m, ValueRange v) {
    Value deviation = m.add(m.op<math::SqrtOp>(v[2]), m.number(v[2], 1e-9));
    return m.convert(m.div(m.sub(v[0], v[1]), deviation), type);
  }));
}

/// Normalizes over the last dimension of a view [batch, groups, rest], then scales and shifts by
/// `scale` and `bias` of shape `parameterShape` under the view `outer`.
static void normalizeGroups(NodeContext &c, AffineExpr groups, AffineExpr rest,
                            ArrayRef<AffineExpr> outer, ArrayRef<AffineExpr> parameterShape) {
  Type type = c.type(0).getElementType(), inner = widestType(c, 3);
  Value view = c.reshape(c.cast(c.input(0), inner), {c.shape(0)[0], groups, rest});
  Value ones = c.broadcast(c.scalar(1, inner), {rest});
  Value normal = c.reshape(layerNorm(c, view, ones, Value(), 2), outer);
  Value scale = c.reshape(c.cast(c.input(1), inner), parameterShape);
  Value bias = c.reshape(c.cast(c.input(2), inner), parameterShape);
  Value shifted = c.map({normal, scale, bias},
                        [](ScalarMath &m, ValueRange x) { return m.add(m.mul(x[0], x[1]), x[2]); });
  c.result(c.cast(c.reshape(shifted, c.shape(0)), type));
}

static void checkParameter(NodeContext &c, size_t i, AffineExpr expected) {
  c.checkRank(i, 1);
  if (!sameSize(c.shape(i)[0], expected))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} values, got {2}", c.nameOfInput(i),
           c.text({expected}), c.text(c.shape(i)));
}

static void checkImage(NodeContext &c) {
  c.input(0, Accepts::Floats);
  if (c.rank(0) < 3)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 3 or more, got {1}", c.nameOfInput(0),
           c.text(c.shape(0)));
}

static void importInstanceNorm(NodeContext &c) {
  checkImage(c);
  SymbolicShape shape = c.shape(0);
  checkParameter(c, 1, shape[1]);
  checkParameter(c, 2, shape[1]);
  SymbolicShape perChannel{shape[1]};
  perChannel.append(shape.size() - 2, c.dim(1));
  normalizeGroups(c, shape[1], c.product(ArrayRef(shape).drop_front(2)), shape, perChannel);
}

/// Version 18 scales each group, version 21 each channel.
static void importGroupNorm(NodeContext &c) {
  checkImage(c);
  SymbolicShape shape = c.shape(0);
  int64_t groups = c.node.getInt("num_groups", 0);
  auto channels = constantValue(shape[1]);
  if (!channels || groups < 1 || *channels % groups != 0)
    c.fail(ErrorKind::InvalidModel, "expected groups that divide the {0} channels, got {1}",
           c.text({shape[1]}), groups);
  bool perChannel = c.opset >= 21;
  AffineExpr parameters = c.dim(perChannel ? *channels : groups);
  checkParameter(c, 1, parameters);
  checkParameter(c, 2, parameters);
  AffineExpr spatial = c.product(ArrayRef(shape).drop_front(2));
  AffineExpr groupSize = c.dim(*channels / groups);
  SymbolicShape outer{shape[0], perChannel ? shape[1] : c.dim(groups),
                      perChannel ? spatial : groupSize * spatial};
  normalizeGroups(c, c.dim(groups), groupSize * spatial, outer, {parameters, c.dim(1)});
}

/// Before version 13 all dimensions from the axis on counted as one.
template <bool log> static void importSoftmax(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  int64_t rank = c.rank(0);
  int64_t axis = c.node.getInt("axis", c.opset >= 13 ? -1 : 1);
  if (c.opset >= 13 || c.axis(axis, rank) == rank - 1)
    return c.result(c.infer<hr::SoftmaxOp>(input, c.axis(axis, rank), log));
  SymbolicShape shape = c.shape(0);
  axis = c.axis(axis, rank);
  Value flat = c.reshape(input, {c.product(ArrayRef(shape).take_front(axis)),
                                 c.product(ArrayRef(shape).drop_front(axis))});
  c.result(c.reshape(c.infer<hr::SoftmaxOp>(flat, 1, log), shape));
}

OperatorFamily normalizationOperators() {
  static const Operator table[] = {
      {"BatchNormalization", 1, importBatchNorm},
      {"LayerNormalization", 1, importLayerNorm}, // ONNX Runtime writes it before version 17, too
      {"RMSNormalization", 23, importRmsNorm},
      {"SimplifiedLayerNormalization", 1, importRmsNorm}, // ONNX Runtime's, in this domain
      {"LpNormalization", 1, importLpNorm},
      {"MeanVarianceNormalization", 9, importMeanVariance},
      {"InstanceNormalization", 1, importInstanceNorm},
      {"GroupNormalization", 18, importGroupNorm},
      {"Softmax", 1, importSoftmax<false>},
      {"LogSoftmax", 1, importSoftmax<true>},
  };
  return table;
}

} // namespace headrace::onnx
