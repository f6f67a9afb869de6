// How hand-written products of matrices are cut so that they fit the chip.
#pragma once

#include "runtime/vta/Configuration.h"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace headrace::vta::test {

/// A tile of results, and how much of the depth is on the chip at a time. In elements.
struct Tile {
  int64_t rows, out, in;
};

inline int64_t blocksOf(int64_t size, int64_t block) { return (size + block - 1) / block; }

/// A product as tiling sees it: results of rows x out, each a sum over in.
struct Tiled {
  int64_t rows, out, in;
  int threads;

  bool fits(const Tile &tile, const Configuration &configuration) const {
    auto room = [&](Memory memory) {
      return static_cast<int64_t>(configuration.depth(memory)) / threads;
    };
    // Two tiles for each of several threads: while one is stored, the next is computed.
    int64_t wanted = threads == 1 ? 1 : 2 * threads;
    return blocksOf(rows, tile.rows) * blocksOf(out, tile.out) >= wanted &&
           tile.rows * tile.in <= room(Memory::Inp) && tile.out * tile.in <= room(Memory::Wgt) &&
           tile.rows * tile.out <= room(Memory::Acc);
  }

  /// Cycles of its loads.
  double cost(const Tile &tile, const Configuration &configuration) const {
    auto cycles = [&](int64_t elements, Memory memory) {
      return 64 + static_cast<double>(elements) *
                      static_cast<double>(configuration.elementBytes(memory)) / 8;
    };
    return static_cast<double>(blocksOf(rows, tile.rows) * blocksOf(out, tile.out) *
                               blocksOf(in, tile.in)) *
           (cycles(tile.rows * tile.in, Memory::Inp) + cycles(tile.out * tile.in, Memory::Wgt));
  }

  Tile choose(const Configuration &configuration) const {
    Tile best{1, 1, 1};
    double least = std::numeric_limits<double>::max();
    for (int64_t r = 1; r <= rows; ++r)
      for (int64_t o = 1; o <= out; ++o)
        for (int64_t i = 1; i <= in; ++i) {
          Tile tile{r, o, i};
          if (out % o != 0 || in % i != 0 || !fits(tile, configuration))
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
