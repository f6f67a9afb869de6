// How well models order candidates of kernels that they have not seen, by a log.
#pragma once

#include "tune/learn/RankModel.h"

namespace headrace::tune {

/// One way to order candidates, judged.
struct Judgement {
  std::string what; // a set of features, or "analytic cost"
  /// Spearman's rank correlation with the measured order of each kernel, learned from all others.
  std::vector<std::pair<std::string, double>> kernels; // by name
  double mean = 0;
};

/// The analytic cost, and a model for each set of features; models need XGBoost. Kernels with fewer
/// than 8 measured candidates are left out.
std::vector<Judgement> judged(std::span<const Trial> trials, uint64_t seed);

} // namespace headrace::tune
