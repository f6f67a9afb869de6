// How long work takes on a machine. An interface, so that a simulator's cycles or a learned model
// can stand in for the analytic one.
#pragma once

#include "analysis/cost/Work.h"

#include <memory>

namespace headrace {

/// How long work takes, and what the time is spent on.
struct Estimate {
  double microseconds = 0;
  /// Shares of the time, which add up to 1: waiting for data from beyond the core, for data in its
  /// own caches, for arithmetic, and for calls to begin.
  double memory = 0, cache = 0, arithmetic = 0, calls = 0;
};

class CostModel {
public:
  virtual ~CostModel() = default;
  /// The time of a kernel or a library call on `threads` threads.
  virtual Estimate estimate(const Work &work, int threads = 1) const = 0;
  double microseconds(const Work &work, int threads = 1) const {
    return estimate(work, threads).microseconds;
  }
};

/// A roofline: the longer of moving the data, each part at the speed of the level that holds it,
/// and of computing, plus the call.
std::unique_ptr<const CostModel> makeRooflineModel(Rates rates);

/// A register tile of a product: `rows` of `width` results, each a sum of `depth` products, on
/// vectors of `lanes` elements.
struct RegisterTile {
  double rows = 1, width = 1, depth = 1, lanes = 1;
  /// Elements that an arithmetic unit takes at a time, if vectors are longer than units; else 0.
  double unitLanes = 0;

  /// The share of a core's multiply-adds that it reaches. The limit is arithmetic, loading
  /// operands, or waiting for sums if there are few of them; beginning and ending a tile comes
  /// on top.
  double efficiency() const;
};

} // namespace headrace
