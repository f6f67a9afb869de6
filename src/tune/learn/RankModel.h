// A learned order of candidates that were not tried: trials of all kernels teach it at once, so
// that a kernel that is new begins with the experience of the others.
#pragma once

#include "tune/learn/Booster.h"
#include "tune/log/TuningLog.h"

namespace headrace::tune {

class RankModel {
public:
  /// Whether there is a library to learn with.
  static bool isAvailable() { return Booster::unsupportedReason().empty(); }

  explicit RankModel(FeatureSet set, uint64_t seed) : set(set), seed(seed) {}

  /// Learns anew from all trials; nothing is known if they are too few.
  void learn(std::span<const Trial> trials);
  bool isTrained() const { return booster != nullptr; }
  /// A score for each, the best first in order if higher; comparable for one kernel.
  std::vector<float> scores(std::span<const Features> candidates) const;

private:
  FeatureSet set;
  uint64_t seed;
  std::unique_ptr<Booster> booster;
};

/// How well an order agrees with the times of one kernel: Spearman's correlation of ranks between
/// scores and speeds, from -1 to 1.
double rankCorrelation(std::span<const float> scores, std::span<const double> microseconds);

} // namespace headrace::tune
