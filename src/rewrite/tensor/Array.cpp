#include "rewrite/tensor/Array.h"

namespace headrace::rewrite {

std::string textOf(const Shape &shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  return text + "]";
}

int64_t elementCount(const Shape &shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

AxisView::AxisView(const Shape &shape, int64_t axis) {
  size_t at = positionOf(shape, axis);
  for (size_t i = 0; i < shape.size(); ++i)
    (i < at ? outer : i == at ? size : inner) *= shape[i];
}

} // namespace headrace::rewrite
