// How a tensor is in the accelerator's DRAM: its dimensions in blocks.
#pragma once

#include "runtime/tensor/Tensor.h"

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace headrace::vta {

/// One axis of the memory: it goes along a dimension of the tensor in steps of `block` positions.
struct Axis {
  int64_t dimension, block;
  bool operator==(const Axis &) const = default;
};

/// The axes from the outermost to the innermost. A matrix in tiles of 1x16 is
/// {0,1} {1,16} {0,1} {1,1}, of which the last two are inside a tile.
using Layout = std::vector<Axis>;

/// Row-major without blocks.
Layout plainLayout(size_t rank);
/// The outer dimensions in blocks of these sizes, then what is in a block. A size of 1 makes no
/// inner axis.
Layout blockedLayout(std::span<const int64_t> blocks);

/// Empty, or why the layout does not describe a tensor of this shape.
std::string unsupportedLayoutReason(const Layout &layout, const Shape &shape);

/// How many steps each axis has; the last blocks of a dimension may be over.
std::vector<int64_t> extentsOf(const Layout &layout, const Shape &shape);

/// Elements of the memory, those that stand over included. Throws Error if they overflow.
int64_t paddedElements(const Layout &layout, const Shape &shape);

/// Copies between a row-major tensor and memory of that layout. Padding becomes 0.
void pack(const Tensor &tensor, const Layout &layout, std::span<std::byte> memory);
Tensor unpack(std::span<const std::byte> memory, DType type, const Shape &shape,
              const Layout &layout);

} // namespace headrace::vta
