// The commands of compute and store for one tile of results: its stages, and the way to DRAM.
#pragma once

#include "target/vta/schedule/ChipPlan.h"
#include "target/vta/schedule/write/Loops.h"
#include "target/vta/schedule/write/OperatorBuffers.h"
#include "target/vta/schedule/write/TileOrder.h"

namespace headrace::vta {

class TileWriter {
public:
  TileWriter(CommandStream &stream, const OperatorShape &shape, const AluProgram &stages,
             const ChipPlan &plan, const OperatorBuffers &buffers)
      : stream(stream), shape(shape), stages(stages), plan(plan), buffers(buffers) {}

  /// Accumulators from `address` on become 0.
  void reset(int64_t address, int64_t count);
  /// op(accumulator, immediate)
  void apply(AluOp op, int32_t immediate, int64_t address, int64_t count);
  /// The cells of an image of the results' sizes, of 8 or 32 bits.
  void loadCells(size_t buffer, DType type, const Tile &tile, int64_t address);

  /// All stages on the tile that begins at `address`.
  void finish(const Tile &tile, int64_t address);
  void store(const Tile &tile, int64_t address);

private:
  void loadConstants(const Tile &tile);
  void applyConstant(const AluPass &pass, const Tile &tile, int64_t address);
  /// op(dst + i, src + i)
  void applyBeside(AluOp op, int64_t dst, int64_t src, int64_t count);
  std::vector<BoxDimension> boxOf(const Tile &tile) const;
  int64_t firstOf(const Tile &tile) const;

  CommandStream &stream;
  const OperatorShape &shape;
  const AluProgram &stages;
  const ChipPlan &plan;
  const OperatorBuffers &buffers;
  /// The blocks of channels whose constants are on the chip.
  std::optional<Part> constantsOf;
};

} // namespace headrace::vta
