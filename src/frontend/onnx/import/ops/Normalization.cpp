// Normalization and softmax.
#include "frontend/onnx/import/Operators.h"

using namespace mlir;

namespace headrace::onnx {

static Type elementTypeOf(Value tensor) {
  return cast<RankedTensorType>(tensor.getType()).getElementType();
}

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

static void importBatchNorm(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  if (c.node.getInt("training_mode", 0) != 0)
    c.fail(ErrorKind::Unsupported, "training mode is not supported");
  if (c.node.getInt("spatial", 1) == 0)
    c.fail(ErrorKind::Unsupported, "statistics per position (spatial = 0) are not supported");
  Type inner = widestType(c, 5);
  SmallVector<Value> operands;
  for (size_t i = 0; i <= 4; ++i)
    operands.push_back(c.cast(c.input(i, Accepts::Floats), inner));
  Value normal =
      c.infer<hr::BatchNormOp>(operands[0], operands[1], operands[2], operands[3], operands[4],
                               c.builder.getF64FloatAttr(c.node.getFloat("epsilon", 1e-5f)),
                               hr::ChannelLayoutAttr::get(c.context, hr::ChannelLayout::First));
  c.result(c.cast(normal, elementTypeOf(input)));
}

static Value layerNorm(NodeContext &c, Value input, Value scale, Value bias, int64_t axis) {
  return c.infer<hr::LayerNormOp>(input, scale, bias, c.builder.getI64IntegerAttr(axis),
                                  c.builder.getF64FloatAttr(c.node.getFloat("epsilon", 1e-5f)));
}

static void importLayerNorm(NodeContext &c) {
  Type type = c.type(0).getElementType(), inner = widestType(c, 3);
  Value input = c.cast(c.input(0), inner);
  Value scale = c.cast(c.input(1), inner);
  Value bias = c.has(2) ? c.cast(c.input(2), inner) : Value();
  int64_t axis = c.axis(c.node.getInt("axis", -1), c.rank(0));
  c.result(c.cast(layerNorm(c, input, scale, bias, axis), type));
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
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected {1} values, found {2}", c.nameOfInput(i),
           c.text({expected}), c.text(c.shape(i)));
}

static void checkImage(NodeContext &c) {
  c.input(0, Accepts::Floats);
  if (c.rank(0) < 3)
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected rank 3 or more, found {1}", c.nameOfInput(0),
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
    c.fail(ErrorKind::InvalidModel, "expected groups that divide the {0} channels, found {1}",
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
      {"BatchNormalization", 7, importBatchNorm},
      {"LayerNormalization", 17, importLayerNorm},
      {"InstanceNormalization", 7, importInstanceNorm},
      {"GroupNormalization", 18, importGroupNorm},
      {"Softmax", 7, importSoftmax<false>},
      {"LogSoftmax", 7, importSoftmax<true>},
  };
  return table;
}

} // namespace headrace::onnx
