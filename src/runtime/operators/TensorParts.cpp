#include "runtime/operators/TensorParts.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace headrace::operators {

const Shape *shapeOf(const RuntimeValue &value) {
  if (const Tensor *tensor = value.tensor())
    return &tensor->shape();
  return value.strings() ? &value.strings()->shape : nullptr;
}

static int64_t product(Shape::const_iterator begin, Shape::const_iterator end) {
  return std::accumulate(begin, end, int64_t(1), std::multiplies<>());
}

namespace {

/// A tensor seen as rows of blocks: the axis has `size` blocks of `inner` elements in each row.
struct Blocks {
  int64_t outer, size, inner;
  Blocks(const Shape &shape, int64_t axis)
      : outer(product(shape.begin(), shape.begin() + axis)), size(shape[axis]),
        inner(product(shape.begin() + axis + 1, shape.end())) {}
};

} // namespace

RuntimeValue take(const RuntimeValue &value, int64_t axis, const std::vector<int64_t> &positions) {
  const Shape &from = *shapeOf(value);
  Blocks blocks(from, axis);
  Shape shape = from;
  shape[axis] = static_cast<int64_t>(positions.size());
  if (const StringTensor *strings = value.strings()) {
    StringTensor result{shape, {}};
    for (int64_t row = 0; row < blocks.outer; ++row)
      for (int64_t position : positions) {
        auto begin = strings->elements.begin() + (row * blocks.size + position) * blocks.inner;
        result.elements.insert(result.elements.end(), begin, begin + blocks.inner);
      }
    return result;
  }
  const Tensor &tensor = *value.tensor();
  Tensor result = Tensor::allocate(tensor.dtype(), shape);
  size_t bytes = static_cast<size_t>(blocks.inner) * sizeOf(tensor.dtype());
  const auto *source = static_cast<const std::byte *>(tensor.data());
  auto *target = static_cast<std::byte *>(result.data());
  if (bytes > 0)
    for (int64_t row = 0; row < blocks.outer; ++row)
      for (int64_t position : positions) {
        std::memcpy(target, source + (row * blocks.size + position) * bytes, bytes);
        target += bytes;
      }
  return result;
}

RuntimeValue slice(const RuntimeValue &tensor, int64_t axis, int64_t start, int64_t count) {
  std::vector<int64_t> positions(count);
  std::iota(positions.begin(), positions.end(), start);
  return take(tensor, axis, positions);
}

std::optional<RuntimeValue> concatenate(const std::vector<RuntimeValue> &tensors, int64_t axis) {
  Shape shape = *shapeOf(tensors.front());
  shape[axis] = 0;
  for (const RuntimeValue &tensor : tensors) {
    const Shape *found = shapeOf(tensor);
    if (!found || found->size() != shape.size() || tensor.kind() != tensors.front().kind())
      return std::nullopt;
    if (tensor.tensor() && tensor.tensor()->dtype() != tensors.front().tensor()->dtype())
      return std::nullopt;
    for (size_t i = 0; i < shape.size(); ++i)
      if (static_cast<int64_t>(i) != axis && (*found)[i] != shape[i])
        return std::nullopt;
    shape[axis] += (*found)[axis];
  }
  int64_t rows = product(shape.begin(), shape.begin() + axis);
  if (tensors.front().strings()) {
    StringTensor result{shape, {}};
    for (int64_t row = 0; row < rows; ++row)
      for (const RuntimeValue &tensor : tensors) {
        const std::vector<std::string> &elements = tensor.strings()->elements;
        int64_t length = rows ? static_cast<int64_t>(elements.size()) / rows : 0;
        auto begin = elements.begin() + row * length;
        result.elements.insert(result.elements.end(), begin, begin + length);
      }
    return result;
  }
  Tensor result = Tensor::allocate(tensors.front().tensor()->dtype(), shape);
  auto *target = static_cast<std::byte *>(result.data());
  for (int64_t row = 0; row < rows; ++row)
    for (const RuntimeValue &tensor : tensors) {
      size_t bytes = tensor.tensor()->bytes() / static_cast<size_t>(rows);
      if (bytes > 0)
        std::memcpy(target, static_cast<const std::byte *>(tensor.tensor()->data()) + row * bytes,
                    bytes);
      target += bytes;
    }
  return result;
}

RuntimeValue reshaped(const RuntimeValue &value, Shape shape) {
  if (const Tensor *tensor = value.tensor())
    return tensor->reshaped(std::move(shape));
  return StringTensor{std::move(shape), value.strings()->elements};
}

RuntimeValue withAxis(const RuntimeValue &tensor, int64_t axis) {
  Shape shape = *shapeOf(tensor);
  shape.insert(shape.begin() + axis, 1);
  return reshaped(tensor, shape);
}

RuntimeValue withoutAxis(const RuntimeValue &tensor, int64_t axis) {
  Shape shape = *shapeOf(tensor);
  shape.erase(shape.begin() + axis);
  return reshaped(tensor, shape);
}

Tensor scalarOf(int64_t number) {
  Tensor result = Tensor::allocate(DType::I64, {});
  *result.as<int64_t>() = number;
  return result;
}

Tensor scalarOf(bool truth) {
  Tensor result = Tensor::allocate(DType::Bool, {});
  *result.as<bool>() = truth;
  return result;
}

Tensor tensorOf(const std::vector<int64_t> &numbers) {
  Tensor result = Tensor::allocate(DType::I64, {static_cast<int64_t>(numbers.size())});
  std::copy(numbers.begin(), numbers.end(), result.as<int64_t>());
  return result;
}

} // namespace headrace::operators
