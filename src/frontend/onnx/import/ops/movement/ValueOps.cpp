// Values from nowhere: constants, shapes as data, and operators that pass their input on.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"

#include <cmath>
#include <cstring>

using namespace mlir;

namespace headrace::onnx {

template <class T> static Tensor tensorOf(DType dtype, Shape shape, ArrayRef<T> values) {
  Tensor tensor = Tensor::allocate(dtype, std::move(shape));
  llvm::copy(values, tensor.as<T>());
  return tensor;
}

static void importConstant(NodeContext &c) {
  const Node &node = c.node;
  if (const Attribute *value = node.find("value"); value && value->kind == Attribute::Tensor)
    return c.result(value->tensor);
  if (node.find("value_float"))
    return c.result(tensorOf<float>(DType::F32, {}, {node.getFloat("value_float", 0)}));
  if (node.find("value_int"))
    return c.result(tensorOf<int64_t>(DType::I64, {}, {node.getInt("value_int", 0)}));
  if (node.find("value_ints")) {
    std::vector<int64_t> values = node.getInts("value_ints");
    return c.result(tensorOf<int64_t>(DType::I64, {static_cast<int64_t>(values.size())}, values));
  }
  if (const Attribute *list = node.find("value_floats"); list && list->kind == Attribute::Floats)
    return c.result(
        tensorOf<float>(DType::F32, {static_cast<int64_t>(list->floats.size())}, list->floats));
  c.fail(ErrorKind::Unsupported,
         "expected a dense tensor, a list of values or a scalar as its value");
}

static void importConstantOfShape(NodeContext &c) {
  const SymbolicShape &dims = c.sizes(0).elements;
  Tensor value = tensorOf<float>(DType::F32, {}, {0.0f});
  if (const Attribute *given = c.node.find("value")) {
    if (given->kind != Attribute::Tensor || given->tensor.elements() != 1)
      c.fail(ErrorKind::InvalidModel, "attribute 'value': expected a tensor of one element");
    value = given->tensor.reshaped({});
  }
  Type type = toElementType(value.dtype(), c.context);
  RankedTensorType resultType = c.checkedType(dims, type);
  bool isSmall = resultType.hasStaticShape() && resultType.getNumElements() <= kMaxKnownElements;
  if (auto element = symbolicValue(value, c.context); element && isSmall)
    return c.result(
        SymbolicValue{value.dtype(), Shape(resultType.getShape()),
                      SymbolicShape(resultType.getNumElements(), element->elements[0])});
  c.result(c.broadcast(createConstant(c.builder, c.loc, value), dims));
}

static void importShape(NodeContext &c) {
  SymbolicShape dims = c.shape(0);
  int64_t rank = dims.size();
  auto bound = [&](const char *attribute, int64_t otherwise) {
    int64_t at = c.node.getInt(attribute, otherwise);
    return std::clamp<int64_t>(at < 0 && at >= -rank ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = bound("end", rank);
  c.result(symbolicVector(ArrayRef(dims).slice(start, std::max<int64_t>(end - start, 0))));
}

static void importSize(NodeContext &c) {
  c.result(SymbolicValue{DType::I64, {}, {c.product(c.shape(0))}});
}

static constexpr int64_t kMaxInRange = int64_t(1) << 24;

template <class Number> static Number numberOf(NodeContext &c, size_t i, DType dtype) {
  Tensor wide = c.constant(i).converted(dtype);
  return *wide.as<Number>();
}

/// Unsigned numbers hold any distance between two integers.
static Tensor integerRange(NodeContext &c) {
  auto number = [&](size_t i) { return numberOf<int64_t>(c, i, DType::I64); };
  int64_t first = number(0), limit = number(1), step = number(2);
  auto difference = [](int64_t a, int64_t b) { return uint64_t(a) - uint64_t(b); };
  uint64_t count = 0;
  if (step > 0 && first < limit)
    count = llvm::divideCeil(difference(limit, first), uint64_t(step));
  else if (step < 0 && first > limit)
    count = llvm::divideCeil(difference(first, limit), difference(0, step));
  if (count > kMaxInRange)
    c.fail(ErrorKind::Unsupported, "expected a range of at most 2^24 values, got {0}", count);
  Tensor range = Tensor::allocate(DType::I64, {static_cast<int64_t>(count)});
  for (uint64_t i = 0; i < count; ++i)
    range.as<int64_t>()[i] = static_cast<int64_t>(uint64_t(first) + i * uint64_t(step));
  return range;
}

static Tensor floatRange(NodeContext &c) {
  auto number = [&](size_t i) { return numberOf<double>(c, i, DType::F64); };
  double start = number(0), step = number(2);
  double count = std::max(std::ceil((number(1) - start) / step), 0.0);
  if (!(count <= kMaxInRange))
    c.fail(ErrorKind::Unsupported, "expected a range of at most 2^24 values, got {0}", count);
  Tensor range = Tensor::allocate(DType::F64, {static_cast<int64_t>(count)});
  for (int64_t i = 0; i < range.elements(); ++i)
    range.as<double>()[i] = start + static_cast<double>(i) * step;
  return range;
}

/// Positions by dynamic dimensions: start and limit are expressions of them. Null if one is not
/// known, or all are numbers.
static Value rangeOverSizes(NodeContext &c) {
  const SymbolicValue *start = c.known(0), *limit = c.known(1), *step = c.known(2);
  for (const SymbolicValue *number : {start, limit, step})
    if (!number || number->elements.size() != 1)
      return {};
  AffineExpr first = start->elements[0], last = limit->elements[0];
  auto by = constantValue(step->elements[0]);
  bool isNumbers = constantValue(first) && constantValue(last);
  if (isNumbers || !by || *by == 0 || std::abs(*by) > kMaxInRange)
    return {};
  AffineExpr distance = normalized(*by > 0 ? last - first : first - last);
  if (!c.decideNonNegative(distance, "a range's length"))
    distance = c.dim(0);
  Compute compute{{distance.ceilDiv(std::abs(*by))}, 0, {}, {}, {}};
  Type type = c.type(0).getElementType();
  return writeCompute(c, compute, [&](PointMath &m) {
    Value walked = m.mul(m.position(0), m.integer(*by));
    return m.convert(m.add(m.size(first), walked), type);
  });
}

/// Numbers in arithmetic progression.
static void importRange(NodeContext &c) {
  for (size_t i : {0, 1, 2}) {
    c.input(i, Accepts::Numbers);
    c.checkSameType(0, i);
  }
  if (Value range = rangeOverSizes(c))
    return c.result(range);
  for (size_t i : {0, 1, 2})
    if (!c.constant(i) || c.constant(i).elements() != 1)
      c.fail(ErrorKind::Unsupported, "{0}: expected one constant", c.nameOfInput(i));
  if (numberOf<double>(c, 2, DType::F64) == 0)
    c.fail(ErrorKind::InvalidModel, "{0}: expected a step other than 0", c.nameOfInput(2));
  Tensor range = isa<IntegerType>(c.type(0).getElementType()) ? integerRange(c) : floatRange(c);
  c.result(range.converted(c.constant(0).dtype()));
}

static void importIdentity(NodeContext &c) { c.resultIsInput(); }

OperatorFamily valueOperators() {
  static const Operator table[] = {
      {"Constant", 7, importConstant},
      {"ConstantOfShape", 9, importConstantOfShape},
      {"Shape", 7, importShape},
      {"Size", 7, importSize},
      {"Range", 11, importRange, shapes::range},
      {"Identity", 7, importIdentity},
  };
  return table;
}

} // namespace headrace::onnx
