// How long work takes on a machine. An interface, so that a simulator's cycles or a learned model
// can stand in for the analytic one.
#pragma once

#include "analysis/cost/Work.h"

#include <memory>

namespace headrace {

class CostModel {
public:
  virtual ~CostModel() = default;
  /// Microseconds of a kernel or a library call on `threads` threads.
  virtual double microseconds(const Work &work, int threads = 1) const = 0;
};

/// A roofline: the longer of moving the data, each part at the speed of the level that holds it,
/// and of computing, plus the call.
std::unique_ptr<const CostModel> makeRooflineModel(Rates rates);

/// A register tile of a product: `rows` of `width` results, each a sum of `depth` products, on
/// vectors of `lanes` elements.
struct RegisterTile {
  double rows = 1, width = 1, depth = 1, lanes = 1;

  /// The share of a core's multiply-adds that it reaches. The limit is arithmetic, loading
  /// operands, or waiting for sums if there are few of them; beginning and ending a tile comes
  /// on top.
  double efficiency() const;
};

} // namespace headrace
