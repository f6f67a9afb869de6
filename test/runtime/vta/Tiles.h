// How hand-written products are cut so that they fit the chip.
#pragma once

#include "runtime/vta/Configuration.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace headrace::vta::test {

/// A tile of results, and how much of the depth is on the chip at a time. In elements.
struct Tile {
  int64_t rows, columns, out, in;
};

inline int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// A product or convolution as tiling sees it: results of height x width x out, each from in
/// channels in windows.
struct Tiled {
  int64_t height, width, out, in, window, stride;
  int threads;
  int sharing; ///< how many tiles of an image have weights of one load

  int64_t across(int64_t results) const { return (results - 1) * stride + window; }

  bool fits(const Tile &tile, const Configuration &configuration, int64_t reserved) const {
    auto room = [&](Memory memory) { return static_cast<int64_t>(configuration.depth(memory)); };
    int64_t spots = blocksOf(height, tile.rows) * blocksOf(width, tile.columns);
    // Two tiles for each of several threads: while one is stored, the next is computed.
    int64_t wanted = threads == 1 ? 1 : 2 * threads;
    return spots >= sharing && spots * blocksOf(out, tile.out) >= wanted &&
           across(tile.rows) * across(tile.columns) * tile.in <= room(Memory::Inp) / threads &&
           tile.out * tile.in * window * window <= room(Memory::Wgt) / 2 &&
           tile.out * tile.rows * tile.columns <= (room(Memory::Acc) - reserved) / threads;
  }

  /// Cycles of its transfers: weights are loaded once for all threads.
  double cost(const Tile &tile, const Configuration &configuration) const {
    auto bytes = [&](Memory memory) {
      return static_cast<double>(configuration.elementBytes(memory));
    };
    double tiles = static_cast<double>(blocksOf(height, tile.rows) * blocksOf(width, tile.columns));
    double outs = static_cast<double>(blocksOf(out, tile.out)),
           steps = static_cast<double>(blocksOf(in, tile.in));
    double inputs = static_cast<double>(across(tile.rows) * across(tile.columns) * tile.in) *
                        bytes(Memory::Inp) / 8 +
                    64 * static_cast<double>(tile.in);
    double weights =
        static_cast<double>(tile.out * tile.in * window * window) * bytes(Memory::Wgt) / 8 + 64;
    return outs * steps * tiles * (inputs + weights / sharing);
  }

  Tile choose(const Configuration &configuration, int64_t reserved) const {
    Tile best{1, 1, 1, 1};
    double least = std::numeric_limits<double>::max();
    for (int64_t rows = 1; rows <= height; ++rows)
      for (int64_t columns = width; columns >= 1; columns = columns / 2)
        for (int64_t o = 1; o <= out; ++o)
          for (int64_t i = 1; i <= in; ++i) {
            Tile tile{rows, columns, o, i};
            if (out % o != 0 || in % i != 0 || !fits(tile, configuration, reserved))
              continue;
            if (double price = cost(tile, configuration); price < least) {
              least = price;
              best = tile;
            }
          }
    return best;
  }
};

} // namespace headrace::vta::test
