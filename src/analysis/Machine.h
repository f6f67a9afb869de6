// The machine that code is made for, as passes see it: caches, registers, vectors, and what work
// costs. Filled in by a target; passes name the target and get it whole.
#pragma once

#include "analysis/cost/CostModel.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cstdint>

namespace headrace {

/// A target's demands on the levels above it: how operators become kernels for it.
struct KernelPolicy {
  /// Images have their channels last, so that vectors run over them.
  bool channelsLast = true;
  /// Products of bf16 and f16 read them as they are; else they are widened before.
  bool narrowProducts = false;
  /// Products of bf16 read both factors as they are if terms are adjacent in the first, and add two
  /// of them at a time to sums in f32.
  bool pairsTerms = false;
  /// Kernels read bf16 and f16 as they are and widen them themselves.
  bool readsNarrow = false;
  /// Kernels may go through rows in cache, several operators at a time.
  bool walksRows = true;
  /// Constant weights are packed in the order in which register tiles read them.
  bool packsWeights = true;
  /// Ways to compute an operator are compared with all threads at work, not with one.
  bool comparesAllThreads = false;
  /// The subject of its kernels' recipes.
  enum class Recipes { Loops, Launches, Nothing } recipes = Recipes::Loops;
};

/// Copies between host memory and a target's own.
struct CopyRates {
  double startMicroseconds = 0, bytesPerMicrosecond = 10'000;
  double microseconds(double bytes) const {
    return startMicroseconds + bytes / bytesPerMicrosecond;
  }
};

struct Machine {
  /// Width of a vector register and how many there are.
  int64_t vectorBytes = 32;
  int64_t vectorRegisters = 16;
  /// Width of the vectors that constant weights are packed for, if machines share them: that of
  /// the widest. The others' vectors are parts of it.
  int64_t sharedVectorBytes = 0;
  /// The nearest cache: how many lines whose addresses differ by multiples of `cacheWayBytes` it
  /// holds at a time.
  int64_t cacheWays = 8;
  int64_t cacheWayBytes = 4096;
  /// TLB reach: how far apart data may be before finding its pages costs more than reading it.
  int64_t translatedBytes = 4 << 20;
  KernelPolicy policy;
  CopyRates copies;
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

/// The machine of a target of this name, as `--target` has it. Throws Error if there is none.
const Machine &machineOfTarget(llvm::StringRef target);
/// Says where `machineOfTarget` finds them; targets do that when the program starts.
void provideMachines(const Machine &(*find)(llvm::StringRef target));

} // namespace headrace
