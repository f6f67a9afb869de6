#include "runtime/tensor/Tensor.h"

#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"

#include <limits>

namespace headrace {

std::string shapeString(const Shape &shape) {
  if (shape.empty())
    return "scalar";
  std::string text;
  for (int64_t size : shape)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text;
}

int64_t elementCount(const Shape &shape) {
  bool empty = false;
  for (int64_t size : shape) {
    if (size < 0)
      throw Error(ErrorKind::InvalidArgument,
                  "shape " + shapeString(shape) + ": expected sizes of 0 or more");
    empty |= size == 0;
  }
  if (empty)
    return 0;
  int64_t count = 1;
  for (int64_t size : shape)
    if (__builtin_mul_overflow(count, size, &count))
      throw Error(ErrorKind::InvalidArgument,
                  "shape " + shapeString(shape) + ": expected fewer than 2^63 elements");
  return count;
}

Tensor::Tensor(DType type, Shape shape, void *memory, std::shared_ptr<const void> owner)
    : type(type), present(true), sizes(std::move(shape)), count(elementCount(sizes)),
      memory(memory), memoryOwner(std::move(owner)) {
  if (count > std::numeric_limits<int64_t>::max() / static_cast<int64_t>(sizeOf(type)))
    throw Error(ErrorKind::InvalidArgument,
                "shape " + shapeString(sizes) + ": expected fewer than 2^63 bytes");
}

Tensor Tensor::allocate(DType type, Shape shape) {
  Tensor tensor(type, std::move(shape), nullptr, nullptr);
  AlignedMemory memory = allocateAligned(tensor.bytes(), "tensor");
  tensor.memory = memory.get();
  tensor.memoryOwner = std::move(memory);
  return tensor;
}

Tensor Tensor::borrow(DType type, Shape shape, const void *data, std::shared_ptr<const void> owner,
                      MemorySpace place) {
  Tensor tensor(type, std::move(shape), const_cast<void *>(data), std::move(owner));
  tensor.where = place;
  return tensor;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (elementCount(shape) != count)
    throw Error(ErrorKind::ShapeMismatch, "reshape of " + shapeString(sizes) + ": expected " +
                                              std::to_string(count) + " elements, got shape " +
                                              shapeString(shape));
  Tensor result = *this;
  result.sizes = std::move(shape);
  return result;
}

Tensor Tensor::viewedAs(DType target) const {
  checkElementSize(sizeOf(target));
  Tensor result = *this;
  result.type = target;
  return result;
}

void Tensor::checkElementSize(size_t size) const {
  if (size != sizeOf(type))
    throw InternalError("a tensor of " + std::string(nameOf(type)) + " was read as elements of " +
                        std::to_string(size) + " bytes");
}

} // namespace headrace
