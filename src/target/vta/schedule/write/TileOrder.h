// The tiles of results in the order in which they are computed.
#pragma once

#include "target/vta/schedule/OperatorShape.h"
#include "target/vta/schedule/Schedule.h"

namespace headrace::vta {

/// Where a loop is cut: a first position and how many follow.
struct Part {
  int64_t begin, size;
};

/// A tile; those at the end of a loop may be smaller.
struct Tile {
  Part batch, out, rows, columns;
  int64_t firstIn; ///< block of input channels that its sums begin with
  int64_t elements() const { return batch.size * out.size * rows.size * columns.size; }
  int64_t plane() const { return rows.size * columns.size; }
};

/// Tiles of one virtual thread each, which go through their steps together.
using TileGroup = std::vector<Tile>;

std::vector<Part> partsOf(int64_t begin, int64_t end, int64_t size);
std::vector<TileGroup> tilesInOrder(const OperatorShape &shape, const Schedule &schedule);

} // namespace headrace::vta
