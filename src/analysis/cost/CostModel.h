// How long work takes on a machine. An interface, so that a simulator's cycles or a learned model
// can stand in for the analytic one.
#pragma once

#include "analysis/cost/Work.h"

#include <memory>

namespace headrace {

class CostModel {
public:
  virtual ~CostModel() = default;
  /// Microseconds of a kernel or a library's call on so many threads.
  virtual double microseconds(const Work &work, int threads = 1) const = 0;
};

/// A roofline: the longer of moving the data, each part at the speed of the level that holds it,
/// and of computing, plus the call.
std::unique_ptr<const CostModel> makeRooflineModel(Rates rates);

/// The share of a core's multiply-adds that a register tile reaches: `rows` of results of `vectors`
/// registers each, of whose lanes `usedLanes` are used. The limit is arithmetic, loading operands,
/// or waiting for sums where there are few of them.
double tileEfficiency(double rows, double vectors, double usedLanes);

} // namespace headrace
