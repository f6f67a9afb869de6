// Predicts a step by planning only the kernels around it.
//
//   conv1 ─▶ conv2 ─▶ relu ─▶ conv3 ─▶ pool        separate relu from conv2's kernel
//            └───── window ──────┘                  planned as it is, and with the step
//
// The window is a program of its own: the operators of the kernels that the step is about and of
// their neighbours, with the values at its edges as inputs and outputs. If its plan as it is has
// the kernels of the whole program, and the neighbours are the same with the step, then the
// program with the step is the whole program with the window's inner kernels replaced.
#pragma once

#include "optimize/Follow.h"
#include "optimize/Plan.h"
#include <map>

namespace headrace::optimize {

/// What a step makes of a program.
struct LocalPrediction {
  std::string refused; // why it is not possible; empty if it is
  RecipeDifference difference;
  Figures after;
};

class Windows {
public:
  /// Both are used as long as this is.
  Windows(Planner &planner, const Plan &now);
  ~Windows();

  /// Nothing if the step reaches too far: the whole program has to be planned then.
  std::optional<LocalPrediction> predict(const Step &step);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace::optimize
