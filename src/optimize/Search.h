// Searches over the steps of guided optimization.
#pragma once

#include "optimize/Optimizer.h"

namespace headrace::optimize {

struct SearchLimits {
  size_t steps = 100;   // that are done or undone
  double seconds = 1e9; // after which no step is begun
  uint64_t seed = 0;
};

/// Where a search is: how many steps it has done, and the least predicted time so far.
using SearchProgress = std::function<void(size_t steps, double microseconds)>;

/// Does the step that saves most, again and again, until none is predicted to save time.
void optimizeGreedily(Optimizer &optimizer, const SearchLimits &limits,
                      const SearchProgress &progress = {});

/// Looks for a recipe that is predicted to take less time; on the way it crosses worse ones. Leaves
/// the program in the best state that it found, the steps to it as its history; in the state where it
/// began if there is no better one. Equal seeds have equal results.
void searchSteps(Optimizer &optimizer, const SearchLimits &limits,
                 const SearchProgress &progress = {});

} // namespace headrace::optimize
