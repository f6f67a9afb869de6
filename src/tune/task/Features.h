// The features of a candidate, as numbers that a learned model reads: three sets, which are
// compared with each other. Hashing gives every name a place, so that the sets have one length for
// all kernels and targets.
#pragma once

#include "analysis/cost/CostModel.h"

#include "tune/task/Candidate.h"
#include <array>
#include <string_view>

namespace headrace::tune {

enum class FeatureSet {
  Configuration, // kinds and parameters of the schedules
  Loops,         // data and arithmetic of the loops: what is touched, how often, at which speed
  Steps,         // the schedule's parameters in their order, in relation to the ones before
  All,
};
std::string_view nameOf(FeatureSet set);

struct Features {
  std::vector<float> configuration, loops, steps;

  /// The features of a set; all sets one after the other for All.
  std::vector<float> of(FeatureSet set) const;
  bool operator==(const Features &) const = default;
};

/// The features of a candidate: `work` is that of the kernel under it, `estimate` what the analytic
/// cost model makes of it.
Features featuresOf(const Candidate &candidate, const Work &work, const Estimate &estimate);

} // namespace headrace::tune
