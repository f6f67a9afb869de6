#include "runtime/vta/BufferLayout.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <cstring>

namespace headrace::vta {

Layout plainLayout(size_t rank) {
  Layout layout;
  for (size_t d = 0; d < rank; ++d)
    layout.push_back({static_cast<int64_t>(d), 1});
  return layout;
}

Layout blockedLayout(std::span<const int64_t> blocks) {
  Layout layout;
  for (size_t d = 0; d < blocks.size(); ++d)
    layout.push_back({static_cast<int64_t>(d), blocks[d]});
  for (size_t d = 0; d < blocks.size(); ++d)
    if (blocks[d] > 1)
      layout.push_back({static_cast<int64_t>(d), 1});
  return layout;
}

std::string unsupportedLayoutReason(const Layout &layout, const Shape &shape) {
  std::vector<int64_t> reached(shape.size(), 0); // the block of the axis before; 0: none yet
  for (const Axis &axis : layout) {
    if (axis.dimension < 0 || axis.dimension >= static_cast<int64_t>(shape.size()))
      return "there is no dimension " + std::to_string(axis.dimension);
    int64_t &outer = reached[static_cast<size_t>(axis.dimension)];
    if (axis.block < 1 || (outer != 0 && (outer == axis.block || outer % axis.block != 0)))
      return "dimension " + std::to_string(axis.dimension) + ": expected a block that divides " +
             std::to_string(outer) + ", got " + std::to_string(axis.block);
    outer = axis.block;
  }
  for (size_t d = 0; d < shape.size(); ++d)
    if (reached[d] != 1)
      return "dimension " + std::to_string(d) + ": expected its last axis with a block of 1";
  return "";
}

std::vector<int64_t> extentsOf(const Layout &layout, const Shape &shape) {
  std::vector<int64_t> extents, outer(shape.size(), 0);
  for (const Axis &axis : layout) {
    auto d = static_cast<size_t>(axis.dimension);
    // Not (size + block - 1) / block, which may overflow.
    int64_t blocks = shape[d] / axis.block + (shape[d] % axis.block != 0 ? 1 : 0);
    extents.push_back(outer[d] == 0 ? blocks : outer[d] / axis.block);
    outer[d] = axis.block;
  }
  return extents;
}

int64_t paddedElements(const Layout &layout, const Shape &shape) {
  return elementCount(extentsOf(layout, shape));
}

namespace {

/// Calls visit(position in memory, index in the row-major tensor) for each position; the index is
/// -1 for a position of padding.
template <class Visit> void forEachElement(const Layout &layout, const Shape &shape, Visit visit) {
  std::vector<int64_t> extents = extentsOf(layout, shape), steps(layout.size(), 0);
  std::vector<int64_t> index(shape.size());
  int64_t count = elementCount(extents);
  for (int64_t position = 0; position < count; ++position) {
    std::ranges::fill(index, 0);
    for (size_t a = 0; a < layout.size(); ++a)
      index[static_cast<size_t>(layout[a].dimension)] += steps[a] * layout[a].block;
    int64_t linear = 0;
    for (size_t d = 0; d < shape.size() && linear >= 0; ++d)
      linear = index[d] < shape[d] ? linear * shape[d] + index[d] : -1;
    visit(position, linear);
    for (size_t a = layout.size(); a-- > 0;) {
      if (++steps[a] < extents[a])
        break;
      steps[a] = 0;
    }
  }
}

void checkBytes(size_t found, const Layout &layout, const Shape &shape, DType type) {
  size_t expected = static_cast<size_t>(paddedElements(layout, shape)) * sizeOf(type);
  if (found != expected)
    throw Error(ErrorKind::ShapeMismatch, "expected " + std::to_string(expected) +
                                              " bytes of memory for " + shapeString(shape) +
                                              ", got " + std::to_string(found));
}

} // namespace

void pack(const Tensor &tensor, const Layout &layout, std::span<std::byte> memory) {
  checkBytes(memory.size(), layout, tensor.shape(), tensor.dtype());
  size_t size = sizeOf(tensor.dtype());
  const auto *from = static_cast<const std::byte *>(tensor.data());
  std::ranges::fill(memory, std::byte{0});
  forEachElement(layout, tensor.shape(), [&](int64_t position, int64_t index) {
    if (index >= 0)
      std::memcpy(memory.data() + static_cast<size_t>(position) * size,
                  from + static_cast<size_t>(index) * size, size);
  });
}

Tensor unpack(std::span<const std::byte> memory, DType type, const Shape &shape,
              const Layout &layout) {
  checkBytes(memory.size(), layout, shape, type);
  Tensor tensor = Tensor::allocate(type, shape);
  size_t size = sizeOf(type);
  auto *to = static_cast<std::byte *>(tensor.data());
  forEachElement(layout, shape, [&](int64_t position, int64_t index) {
    if (index >= 0)
      std::memcpy(to + static_cast<size_t>(index) * size,
                  memory.data() + static_cast<size_t>(position) * size, size);
  });
  return tensor;
}

} // namespace headrace::vta
