// The commands of a pooling: windows of what was loaded, as far as they are in the image.
#pragma once

#include "target/vta/schedule/write/TileWriter.h"

namespace headrace::vta {

class PoolWriter {
public:
  PoolWriter(CommandStream &stream, const OperatorShape &shape, const ChipPlan &plan,
             const OperatorBuffers &buffers)
      : stream(stream), shape(shape), plan(plan), buffers(buffers) {}

  /// The largest of each window into accumulators from `address` on, which are 0.
  void write(const Tile &tile, int64_t address);

private:
  /// Neighbouring results whose windows begin and end at the same positions inside.
  struct Band {
    Part results;      ///< of the tile
    int64_t first;     ///< position of the first result's window on the chip, of what is inside
    int64_t positions; ///< of a window that are inside
  };
  std::vector<Band> bandsOf(const Part &results, int64_t stride, int64_t pad, int64_t window,
                            int64_t inputSize) const;
  void load(const Tile &tile, const Part &rows, const Part &columns);
  void writeBand(const Tile &tile, const Band &y, const Band &x, const Part &rows,
                 const Part &columns, int64_t address);

  CommandStream &stream;
  const OperatorShape &shape;
  const ChipPlan &plan;
  const OperatorBuffers &buffers;
};

} // namespace headrace::vta
