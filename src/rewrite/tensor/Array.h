// Shapes, and arrays of doubles that have one: the values of tensor terms. Axes are counted from
// the last, which is 1, so that an operator on the last axes says nothing of how many are before
// them: it works for each of their elements. That is how a map over an operator is written.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::rewrite {

using Shape = std::vector<int64_t>;

/// "[2, 3]"
std::string textOf(const Shape &shape);
int64_t elementCount(const Shape &shape);

/// Larger ones are rejected wherever they come from.
inline constexpr int64_t maxElements = int64_t{1} << 40;

/// The position of an axis in its shape.
inline size_t positionOf(const Shape &shape, int64_t axis) {
  return shape.size() - static_cast<size_t>(axis);
}
inline bool hasAxis(const Shape &shape, int64_t axis) {
  return axis >= 1 && axis <= static_cast<int64_t>(shape.size());
}
inline int64_t sizeOf(const Shape &shape, int64_t axis) { return shape[positionOf(shape, axis)]; }

struct Array {
  Shape shape;
  std::vector<double> values; ///< in row-major order

  Array() = default;
  explicit Array(Shape shape)
      : shape(std::move(shape)), values(static_cast<size_t>(elementCount(this->shape))) {}
};

/// An array seen around one axis: element (o, i, n) stands at (o * size + i) * inner + n.
struct AxisView {
  int64_t outer = 1, size = 1, inner = 1;

  AxisView(const Shape &shape, int64_t axis);
};

} // namespace headrace::rewrite
