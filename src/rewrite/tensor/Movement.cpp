// Operators that move elements and compute nothing.
#include "rewrite/tensor/Operators.h"

#include <algorithm>

namespace headrace::rewrite {

namespace {

using Operands = std::span<const Array *const>;
using Shapes = std::span<const Shape>;
using Kind = Language::Kind;

std::string axisReason(const Shape &shape, int64_t axis) {
  return "there is no axis " + std::to_string(axis) + " in " + textOf(shape);
}

Shape replaced(const Shape &shape, int64_t axis, std::initializer_list<int64_t> sizes) {
  Shape result = shape;
  auto at = result.erase(result.begin() + static_cast<ptrdiff_t>(positionOf(shape, axis)));
  result.insert(at, sizes);
  return result;
}

ShapeResult tensorShape(const OperatorCall &call, Shapes) { return Shape(call.numbers); }

ShapeResult splitShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0], n = call.numbers[1];
  const Shape &shape = operands[0];
  if (!hasAxis(shape, axis))
    return ShapeResult::none(axisReason(shape, axis));
  int64_t size = sizeOf(shape, axis);
  if (n < 1 || size % n != 0)
    return ShapeResult::none("axis " + std::to_string(axis) + " of " + textOf(shape) +
                             " is not a multiple of " + std::to_string(n));
  return replaced(shape, axis, {size / n, n});
}

ShapeResult joinShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0];
  const Shape &shape = operands[0];
  if (!hasAxis(shape, axis) || !hasAxis(shape, axis + 1))
    return ShapeResult::none(axisReason(shape, axis + 1));
  Shape result = replaced(shape, axis, {});
  result[positionOf(result, axis)] *= sizeOf(shape, axis);
  return result;
}

// Both keep the order of elements.
Array sameElements(const OperatorCall &, Operands operands, const Shape &result) {
  Array array;
  array.shape = result;
  array.values = operands[0]->values;
  return array;
}

ShapeResult slideShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0], n = call.numbers[1], step = call.numbers[2];
  const Shape &shape = operands[0];
  if (!hasAxis(shape, axis))
    return ShapeResult::none(axisReason(shape, axis));
  int64_t size = sizeOf(shape, axis);
  if (n < 1 || step < 1 || n > size)
    return ShapeResult::none("no window of " + std::to_string(n) + " fits axis " +
                             std::to_string(axis) + " of " + textOf(shape));
  return replaced(shape, axis, {(size - n) / step + 1, n});
}

Array slideMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  AxisView from(operands[0]->shape, call.numbers[0]);
  int64_t n = call.numbers[1], step = call.numbers[2], windows = (from.size - n) / step + 1;
  Array array(result);
  auto to = array.values.begin();
  for (int64_t o = 0; o < from.outer; ++o)
    for (int64_t w = 0; w < windows; ++w)
      to = std::copy_n(operands[0]->values.begin() + (o * from.size + w * step) * from.inner,
                       n * from.inner, to);
  return array;
}

ShapeResult padShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0], before = call.numbers[1], after = call.numbers[2];
  const Shape &shape = operands[0];
  if (!hasAxis(shape, axis))
    return ShapeResult::none(axisReason(shape, axis));
  if (before < 0 || after < 0 || before > maxElements || after > maxElements)
    return ShapeResult::none("padding of negative size");
  return replaced(shape, axis, {before + sizeOf(shape, axis) + after});
}

Array padMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  AxisView from(operands[0]->shape, call.numbers[0]), to(result, call.numbers[0]);
  Array array(result);
  for (int64_t o = 0; o < from.outer; ++o)
    std::copy_n(operands[0]->values.begin() + o * from.size * from.inner, from.size * from.inner,
                array.values.begin() + (o * to.size + call.numbers[1]) * to.inner);
  return array;
}

ShapeResult sliceShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0], from = call.numbers[1], n = call.numbers[2];
  const Shape &shape = operands[0];
  if (!hasAxis(shape, axis))
    return ShapeResult::none(axisReason(shape, axis));
  if (from < 0 || n < 0 || from > sizeOf(shape, axis) || n > sizeOf(shape, axis) - from)
    return ShapeResult::none("no " + std::to_string(n) + " elements from " + std::to_string(from) +
                             " on axis " + std::to_string(axis) + " of " + textOf(shape));
  return replaced(shape, axis, {n});
}

Array sliceMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  AxisView from(operands[0]->shape, call.numbers[0]), to(result, call.numbers[0]);
  Array array(result);
  for (int64_t o = 0; o < to.outer; ++o)
    std::copy_n(operands[0]->values.begin() + (o * from.size + call.numbers[1]) * from.inner,
                to.size * to.inner, array.values.begin() + o * to.size * to.inner);
  return array;
}

ShapeResult concatShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0];
  const Shape &a = operands[0], &b = operands[1];
  if (!hasAxis(a, axis) || !hasAxis(b, axis))
    return ShapeResult::none(axisReason(hasAxis(a, axis) ? b : a, axis));
  if (replaced(a, axis, {}) != replaced(b, axis, {}) || a.size() != b.size())
    return ShapeResult::none(textOf(a) + " and " + textOf(b) + " differ in an axis other than " +
                             std::to_string(axis));
  return replaced(a, axis, {sizeOf(a, axis) + sizeOf(b, axis)});
}

Array concatMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  Array array(result);
  int64_t axis = call.numbers[0];
  AxisView a(operands[0]->shape, axis), b(operands[1]->shape, axis);
  auto to = array.values.begin();
  for (int64_t o = 0; o < a.outer; ++o) {
    int64_t first = a.size * a.inner, second = b.size * b.inner;
    to = std::copy_n(operands[0]->values.begin() + o * first, first, to);
    to = std::copy_n(operands[1]->values.begin() + o * second, second, to);
  }
  return array;
}

ShapeResult transposeShape(const OperatorCall &call, Shapes operands) {
  int64_t a = call.numbers[0], b = call.numbers[1];
  Shape result = operands[0];
  if (!hasAxis(result, a) || !hasAxis(result, b))
    return ShapeResult::none(axisReason(result, hasAxis(result, a) ? b : a));
  std::swap(result[positionOf(result, a)], result[positionOf(result, b)]);
  return result;
}

Array transposeMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  const Shape &shape = operands[0]->shape;
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;)
    strides[i - 1] = strides[i] * shape[i];
  std::swap(strides[positionOf(shape, call.numbers[0])],
            strides[positionOf(shape, call.numbers[1])]);
  Array array(result);
  std::vector<int64_t> index(shape.size());
  int64_t from = 0;
  for (double &value : array.values) {
    value = operands[0]->values[static_cast<size_t>(from)];
    for (size_t i = shape.size(); i-- > 0;) {
      from += strides[i];
      if (++index[i] < result[i])
        break;
      from -= index[i] * strides[i];
      index[i] = 0;
    }
  }
  return array;
}

ShapeResult repeatShape(const OperatorCall &call, Shapes operands) {
  int64_t axis = call.numbers[0], n = call.numbers[1];
  Shape result = operands[0];
  if (axis < 1 || axis > static_cast<int64_t>(result.size()) + 1)
    return ShapeResult::none("no new axis " + std::to_string(axis) + " in " + textOf(result));
  if (n < 0)
    return ShapeResult::none("repeated a negative number of times");
  result.insert(result.end() - static_cast<ptrdiff_t>(axis - 1), n);
  return result;
}

Array repeatMeaning(const OperatorCall &call, Operands operands, const Shape &result) {
  AxisView to(result, call.numbers[0]);
  Array array(result);
  auto at = array.values.begin();
  for (int64_t o = 0; o < to.outer; ++o)
    for (int64_t i = 0; i < to.size; ++i)
      at = std::copy_n(operands[0]->values.begin() + o * to.inner, to.inner, at);
  return array;
}

} // namespace

std::span<const TensorOperator> movementOperators() {
  const std::vector<Kind> one(1, Kind::Number), two(2, Kind::Number), three(3, Kind::Number);
  static const std::vector<TensorOperator> operators = {
      {"tensor", {{Kind::Name}, true, 0}, tensorShape, nullptr},
      {"split", {two, false, 1}, splitShape, sameElements},
      {"join", {one, false, 1}, joinShape, sameElements},
      {"slide", {three, false, 1}, slideShape, slideMeaning},
      {"pad", {three, false, 1}, padShape, padMeaning},
      {"slice", {three, false, 1}, sliceShape, sliceMeaning},
      {"concat", {one, false, 2}, concatShape, concatMeaning},
      {"transpose", {two, false, 1}, transposeShape, transposeMeaning},
      {"repeat", {two, false, 1}, repeatShape, repeatMeaning},
  };
  return operators;
}

} // namespace headrace::rewrite
