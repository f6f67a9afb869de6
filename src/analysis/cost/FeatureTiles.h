// How the features of a product, the columns of its weights, are cut into tiles: what a register
// tile spans, and what constant weights are packed in. One number for both.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace headrace {

struct FeatureTiles {
  int64_t features = 1;
  int64_t lanes = 8, registers = 16; // of the machine's vectors
  /// How many rows share the columns.
  int64_t rows = std::numeric_limits<int64_t>::max();
  /// The weights of one column, and what the core's own cache holds, in bytes; 0: any.
  double columnBytes = 0, cacheBytes = 0;

  /// The tile whose products take the least time; 0 if none makes good vectors.
  int64_t propose() const;
  /// Whether two full vectors at a time, and something left over, are fewer vectors than those of
  /// that tile, some of whose lanes are idle; weights are not packed for them.
  bool restPays() const;
  /// Why weights cannot be packed in tiles of `columns` columns; empty if they can.
  std::string refusalOf(int64_t columns) const;

  /// The number of rows whose accumulators fit in registers next to their operands.
  static int64_t maxRows(int64_t registers, int64_t lanes, int64_t columns);

private:
  double efficiencyOf(int64_t columns) const;
  /// Whether the weights of this many columns stay in the core's own cache while rows use them.
  bool staysInCache(int64_t columns) const;
};

/// Rows that a kernel walks at a time: as many as have an accumulator each in a register, with room
/// for what is read.
inline int64_t rowsOfWalk(int64_t registers) { return registers / 4; }

} // namespace headrace
