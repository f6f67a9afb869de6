// The machine that code is made for, as passes see it: caches, registers, vectors, and what work
// costs. Filled in by a target; passes name the target and get it whole.
#pragma once

#include "analysis/cost/CostModel.h"

#include "llvm/ADT/StringRef.h"

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
  /// Its speeds, and how long work takes at them.
  Rates rates;
  std::shared_ptr<const CostModel> cost;

  int64_t lanes(int64_t elementBytes) const { return vectorBytes / elementBytes; }
  int64_t packedLanes(int64_t elementBytes) const {
    return std::max(vectorBytes, sharedVectorBytes) / elementBytes;
  }
  /// Takes the rates, and the analytic model over them.
  void setRates(Rates given) {
    rates = std::move(given);
    cost = makeRooflineModel(rates);
  }
};

/// The machine of a target of this name, as `--target` has it. Throws Error where there is none.
const Machine &machineOfTarget(llvm::StringRef target);
/// Says where `machineOfTarget` finds them; targets do that when the program starts.
void provideMachines(const Machine &(*find)(llvm::StringRef target));

/// How many features (columns of constant weights) one register tile spans: a divisor of `features`
/// that makes good vectors of so many elements; 0 where there is none.
int64_t chooseFeatureTile(int64_t lanes, int64_t features);

} // namespace headrace
