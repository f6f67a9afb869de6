// Operators that move elements to where numbers say. Compiled code is made for those numbers; if
// they are others in every call, they are cheaper here.
#include "runtime/operators/HostOperators.h"
#include "runtime/operators/TensorParts.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

static const Shape &shapeOfData(HostCall &c) {
  const Shape *shape = shapeOf(c.input(0));
  if (!shape)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected a tensor, got " + describe(c.input(0)));
  return *shape;
}

/// The axes of an input, or all of them, or the first `count`.
static std::vector<int64_t> axesOf(HostCall &c, size_t input, size_t count) {
  auto rank = static_cast<int64_t>(shapeOfData(c).size());
  std::vector<int64_t> axes;
  if (c.has(input)) {
    for (int64_t axis : c.integers(input))
      axes.push_back(c.axis(axis, rank));
  } else {
    for (size_t i = 0; i < count; ++i)
      axes.push_back(c.axis(static_cast<int64_t>(i), rank));
  }
  return axes;
}

/// Throws Error if a tensor of that shape, which elements are going to be moved to, does not fit
/// into memory.
static void checkSize(HostCall &c, const Shape &shape) {
  constexpr int64_t most = int64_t(1) << 40; // elements
  int64_t total = 1;
  for (int64_t size : shape)
    if (size < 0 || size > most ||
        __builtin_mul_overflow(total, std::max<int64_t>(size, 1), &total) || total > most)
      c.fail(ErrorKind::ShapeMismatch,
             "expected a result of at most 2^40 elements, got " + shapeString(shape));
}

//===--------------------------------------------------------------------------===//
// Slice, Split
//===--------------------------------------------------------------------------===//

static std::vector<int64_t> slicedPositions(HostCall &c, int64_t size, int64_t start, int64_t end,
                                            int64_t step) {
  if (step == 0)
    c.fail(ErrorKind::InvalidModel, "expected steps other than 0");
  if (size == 0)
    return {};
  auto inside = [&](int64_t bound, int64_t low, int64_t high) {
    return std::clamp(bound < 0 ? bound + size : bound, low, high);
  };
  std::vector<int64_t> positions;
  // A step beyond the tensor takes one position, as one to its end does.
  step = std::clamp(step, -size - 1, size + 1);
  if (step > 0)
    for (int64_t i = inside(start, 0, size), last = inside(end, 0, size); i < last; i += step)
      positions.push_back(i);
  else
    for (int64_t i = inside(start, 0, size - 1), last = inside(end, -1, size - 1); i > last;
         i += step)
      positions.push_back(i);
  return positions;
}

static Values slice(HostCall &c) {
  std::vector<int64_t> starts = c.integers(1), ends = c.integers(2);
  std::vector<int64_t> axes = axesOf(c, 3, starts.size());
  std::vector<int64_t> steps(axes.size(), 1);
  if (c.has(4))
    steps = c.integers(4);
  if (starts.size() != axes.size() || ends.size() != axes.size() || steps.size() != axes.size())
    c.fail(ErrorKind::InvalidModel,
           "expected as many starts, ends, axes and steps, got " + std::to_string(starts.size()) +
               ", " + std::to_string(ends.size()) + ", " + std::to_string(axes.size()) + " and " +
               std::to_string(steps.size()));
  RuntimeValue result = c.input(0);
  for (size_t i = 0; i < axes.size(); ++i)
    result = take(result, axes[i],
                  slicedPositions(c, shapeOfData(c)[axes[i]], starts[i], ends[i], steps[i]));
  return {result};
}

static Values split(HostCall &c) {
  const Shape &shape = shapeOfData(c);
  int64_t axis = c.axis(c.node.getInt("axis", 0), static_cast<int64_t>(shape.size()));
  size_t parts = c.node.outputs.size();
  std::vector<int64_t> sizes;
  if (c.has(1)) {
    sizes = c.integers(1);
  } else {
    int64_t count = std::max<int64_t>(static_cast<int64_t>(parts), 1);
    int64_t size = (shape[axis] + count - 1) / count;
    for (int64_t left = shape[axis]; sizes.size() < parts; left -= sizes.back())
      sizes.push_back(std::min(size, left));
  }
  int64_t left = shape[axis];
  for (int64_t size : sizes)
    left = size < 0 || size > left ? -1 : left - size;
  if (sizes.size() != parts || left != 0)
    c.fail(ErrorKind::ShapeMismatch, "expected " + std::to_string(parts) + " parts of " +
                                         std::to_string(shape[axis]) + " positions, got " +
                                         shapeString(sizes));
  Values results;
  int64_t start = 0;
  for (int64_t size : sizes) {
    results.push_back(slice(c.input(0), axis, start, size));
    start += size;
  }
  return results;
}

//===--------------------------------------------------------------------------===//
// Pad, Tile
//===--------------------------------------------------------------------------===//

/// The position inside that stands for one outside.
static int64_t mirrored(const std::string &mode, int64_t position, int64_t size) {
  if (mode == "edge")
    return std::clamp<int64_t>(position, 0, size - 1);
  int64_t period = mode == "wrap" ? size : std::max<int64_t>(2 * (size - 1), 1);
  int64_t rest = ((position % period) + period) % period;
  return rest < size ? rest : period - rest;
}

/// The tensor with a block of equal elements on either side of it.
static Tensor surrounded(HostCall &c, const Tensor &tensor, int64_t axis, int64_t before,
                         int64_t after, const std::byte *filling) {
  Shape shape = tensor.shape();
  shape[axis] += before + after;
  checkSize(c, shape);
  Tensor result = Tensor::allocate(tensor.dtype(), shape);
  size_t element = sizeOf(tensor.dtype());
  auto rows = elementCount(Shape(shape.begin(), shape.begin() + axis));
  auto inner = elementCount(Shape(shape.begin() + axis + 1, shape.end()));
  auto *to = static_cast<std::byte *>(result.data());
  auto fill = [&](int64_t count) {
    for (int64_t i = 0; i < count * inner; ++i, to += element)
      std::memcpy(to, filling, element);
  };
  size_t length = rows ? tensor.bytes() / static_cast<size_t>(rows) : 0;
  for (int64_t row = 0; row < rows; ++row) {
    fill(before);
    if (length > 0)
      std::memcpy(to, static_cast<const std::byte *>(tensor.data()) + row * length, length);
    to += length;
    fill(after);
  }
  return result;
}

static Values pad(HostCall &c) {
  constexpr int64_t far = std::numeric_limits<int32_t>::max();
  std::string mode = c.node.getString("mode", "constant");
  std::vector<int64_t> axes = axesOf(c, 3, shapeOfData(c).size()), pads = c.integers(1);
  if (pads.size() != 2 * axes.size())
    c.fail(ErrorKind::InvalidModel, "expected " + std::to_string(2 * axes.size()) + " pads, got " +
                                        std::to_string(pads.size()));
  Tensor result = c.tensor(0);
  Tensor filling = Tensor::allocate(result.dtype(), {});
  std::memset(filling.data(), 0, filling.bytes());
  if (c.has(2)) {
    if (c.tensor(2).dtype() != result.dtype() || c.tensor(2).elements() != 1)
      c.fail(ErrorKind::TypeMismatch, c.nameOfInput(2) + ": expected one element of " +
                                          std::string(nameOf(result.dtype())) + ", got " +
                                          describe(c.input(2)));
    filling = c.tensor(2);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    int64_t axis = axes[i], before = pads[i], after = pads[axes.size() + i];
    if (std::abs(before) > far || std::abs(after) > far)
      c.fail(ErrorKind::InvalidModel, "expected pads below 2^31, got " + std::to_string(before) +
                                          " and " + std::to_string(after));
    // A negative pad cuts off.
    int64_t cut = std::max<int64_t>(-before, 0);
    int64_t size = result.shape()[axis] - cut - std::max<int64_t>(-after, 0);
    if (size < 0)
      c.fail(ErrorKind::ShapeMismatch, "expected a size of " + std::to_string(cut) +
                                           " or more to cut off, got " + describe(c.input(0)));
    if (size < result.shape()[axis])
      result = *slice(result, axis, cut, size).tensor();
    before = std::max<int64_t>(before, 0);
    after = std::max<int64_t>(after, 0);
    if (before + after == 0)
      continue;
    if (mode == "constant") {
      result = surrounded(c, result, axis, before, after,
                          static_cast<const std::byte *>(std::as_const(filling).data()));
      continue;
    }
    Shape shape = result.shape();
    shape[axis] += before + after;
    checkSize(c, shape);
    if (size == 0)
      c.fail(ErrorKind::ShapeMismatch,
             "expected elements to pad with, got " + describe(c.input(0)));
    std::vector<int64_t> positions;
    for (int64_t position = -before; position < size + after; ++position)
      positions.push_back(mirrored(mode, position, size));
    result = *take(result, axis, positions).tensor();
  }
  return {result};
}

static Values tile(HostCall &c) {
  Shape shape = shapeOfData(c);
  std::vector<int64_t> repeats = c.integers(1);
  if (repeats.size() != shape.size())
    c.fail(ErrorKind::ShapeMismatch, c.nameOfInput(1) + ": expected " +
                                         std::to_string(shape.size()) + " repeats, got " +
                                         std::to_string(repeats.size()));
  RuntimeValue result = c.input(0);
  for (size_t axis = 0; axis < shape.size(); ++axis) {
    int64_t size = shape[axis];
    if (repeats[axis] < 0 || __builtin_mul_overflow(size, repeats[axis], &shape[axis]))
      c.fail(ErrorKind::ShapeMismatch,
             c.nameOfInput(1) + ": expected repeats of 0 or more, got " + shapeString(repeats));
    checkSize(c, shape);
    if (repeats[axis] == 1)
      continue;
    std::vector<int64_t> positions;
    for (int64_t i = 0; i < shape[axis]; ++i)
      positions.push_back(i % size);
    result = take(result, static_cast<int64_t>(axis), positions);
  }
  return {result};
}

//===--------------------------------------------------------------------------===//
// Range
//===--------------------------------------------------------------------------===//

template <class T> static Values rangeOf(HostCall &c) {
  T numbers[3];
  for (size_t i = 0; i < 3; ++i) {
    if (c.tensor(i).dtype() != c.tensor(0).dtype() || c.tensor(i).elements() != 1)
      c.fail(ErrorKind::TypeMismatch, c.nameOfInput(i) + ": expected one element of " +
                                          std::string(nameOf(c.tensor(0).dtype())) + ", got " +
                                          describe(c.input(i)));
    numbers[i] = c.tensor(i).as<T>()[0];
  }
  auto [start, limit, delta] = numbers;
  if (delta == 0)
    c.fail(ErrorKind::InvalidModel, c.nameOfInput(2) + ": expected a step other than 0");
  double count = std::ceil((static_cast<double>(limit) - static_cast<double>(start)) /
                           static_cast<double>(delta));
  constexpr double most = 1e12;
  if (!(count < most))
    c.fail(ErrorKind::ShapeMismatch, "expected at most 10^12 elements, got more");
  Tensor result =
      Tensor::allocate(c.tensor(0).dtype(), {std::max<int64_t>(static_cast<int64_t>(count), 0)});
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<T>()[i] = static_cast<T>(start + static_cast<T>(i) * delta);
  return {result};
}

static Values range(HostCall &c) {
  switch (c.tensor(0).dtype()) {
  case DType::F32:
    return rangeOf<float>(c);
  case DType::F64:
    return rangeOf<double>(c);
  case DType::I16:
    return rangeOf<int16_t>(c);
  case DType::I32:
    return rangeOf<int32_t>(c);
  case DType::I64:
    return rangeOf<int64_t>(c);
  default:
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected 16- to 64-bit values, got " + describe(c.input(0)));
  }
}

HostFamily movementOperators() {
  static const HostOperator table[] = {
      {"", "Slice", 10, slice, 1}, {"", "Split", 13, split, 1}, {"", "Pad", 11, pad, 1},
      {"", "Tile", 6, tile, 1},    {"", "Range", 11, range, 0},
  };
  return table;
}

} // namespace headrace::operators
