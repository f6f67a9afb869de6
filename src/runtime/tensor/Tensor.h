#pragma once

#include "runtime/tensor/DType.h"

#include <memory>
#include <string>
#include <vector>

namespace headrace {

using Shape = std::vector<int64_t>;

/// "1x3x224x224"; a scalar is "scalar".
std::string shapeString(const Shape &shape);

/// The product of the sizes; throws Error when one is negative or the product overflows.
int64_t elementCount(const Shape &shape);

/// Whose memory something is in: the host's, or that of a device.
struct MemorySpace {
  static constexpr int host = -1;
  int device = host;
  bool onHost() const { return device == host; }
  friend bool operator==(const MemorySpace &, const MemorySpace &) = default;
};

/// A contiguous row-major array. Copies share the memory.
class Tensor {
public:
  /// No tensor at all: false in a condition.
  Tensor() = default;

  /// Fresh memory, 64-byte aligned, not initialised.
  static Tensor allocate(DType type, Shape shape);

  /// Borrowed memory, kept alive by `owner` (which may be null if the caller sees to it).
  static Tensor borrow(DType type, Shape shape, const void *data, std::shared_ptr<const void> owner,
                       MemorySpace place = {});

  DType dtype() const { return type; }
  const Shape &shape() const { return sizes; }
  int64_t elements() const { return count; }
  size_t bytes() const { return static_cast<size_t>(count) * sizeOf(type); }
  const std::shared_ptr<const void> &owner() const { return memoryOwner; }
  explicit operator bool() const { return present; }
  MemorySpace place() const { return where; }

  /// An address at that place, for the host to follow only if it is the host's. Writing is for
  /// whoever allocated the tensor; borrowed memory may be read-only.
  void *data() { return memory; }
  const void *data() const { return memory; }

  /// The elements as T, whose size must be that of the element type (f16 and bf16: uint16_t).
  template <class T> T *as() {
    checkElementSize(sizeof(T));
    return static_cast<T *>(memory);
  }
  template <class T> const T *as() const {
    checkElementSize(sizeof(T));
    return static_cast<const T *>(memory);
  }

  /// A view of this memory under another shape with as many elements.
  Tensor reshaped(Shape shape) const;

  /// A view of this memory as elements of another type of equal size.
  Tensor viewedAs(DType type) const;

  /// The values converted to another type. Between floats, rounds to nearest even; values that are
  /// too large become infinite, or NaN in types without infinity (the largest value in F4E2M1,
  /// which has neither). From float to integer, rounds toward zero and clamps to the range, NaN to
  /// 0 (I4 and U4 take the low bits of an I32). Between integers, modulo 2^n. To bool, `!= 0`.
  Tensor converted(DType type) const;

private:
  Tensor(DType type, Shape shape, void *memory, std::shared_ptr<const void> owner);
  void checkElementSize(size_t size) const;

  DType type = DType::F32;
  bool present = false;
  Shape sizes;
  int64_t count = 0;
  MemorySpace where;
  void *memory = nullptr;
  std::shared_ptr<const void> memoryOwner;
};

} // namespace headrace
