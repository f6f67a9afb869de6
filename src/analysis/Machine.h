// The machine model that loop shapes are chosen with: caches, registers, vectors. Filled in by a
// target.
#pragma once

#include <algorithm>
#include <cstdint>

namespace headrace {

struct Machine {
  /// Width of a vector register and how many there are.
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  /// Width of the vectors that constant weights are packed for, where machines share them: that of
  /// the widest. The others' vectors are parts of it.
  int64_t sharedVectorBytes = 0;
  /// The nearest cache: how many lines whose addresses differ by multiples of `cacheWayBytes` it
  /// holds at a time.
  int64_t cacheWays = 8;
  int64_t cacheWayBytes = 4096;
  /// TLB reach: how far apart data may lie before finding its pages costs more than reading it.
  int64_t translatedBytes = 4 << 20;
  /// Thousands of threads, each of which may take any point: nothing is gained by walking rows in
  /// cache or by packing weights for registers, and operands are read in any order.
  bool isDevice = false;

  int64_t lanes(int64_t elementBytes) const { return vectorBytes / elementBytes; }
  int64_t packedLanes(int64_t elementBytes) const {
    return std::max(vectorBytes, sharedVectorBytes) / elementBytes;
  }
};

/// How many features (columns of constant weights) one register tile spans: a divisor of `features`
/// that makes good vectors of so many elements; 0 where there is none.
int64_t chooseFeatureTile(int64_t lanes, int64_t features);

} // namespace headrace
