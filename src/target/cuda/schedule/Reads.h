// Reads of a launched operation, followed through everything that is computed on the way.
#pragma once

#include "target/cuda/schedule/KernelTensors.h"

namespace headrace::cuda {

/// A value read at a point: expressions over the loops of the operation it was followed from, and
/// over further dimensions, one for each loop of a reduction on the way.
struct Read {
  mlir::Value value;
  Point point;
};

struct Reads {
  std::vector<Read> memory;                // from memory: given or launched before
  std::vector<Read> reductions;            // results of reductions that are computed on the way
  std::vector<mlir::Operation *> computed; // on the way, readers first
  unsigned dims = 0;                       // loops and further dimensions
  bool complete = true; // false: something other than linalg and views is on the way
};

/// Follows the reads of `op` at each point of its result. With `throughReductions`, also what
/// reductions on the way read.
Reads readsOf(mlir::Operation *op, bool throughReductions = true);

/// The expressions of the dimensions of the operation's result.
Point resultPoint(mlir::Operation *op);

/// How far apart in memory neighbours along `dim` lie, in elements; nothing if it varies.
std::optional<int64_t> strideAlong(const Read &read, unsigned dim);

/// The one read of an element-wise operation that does not lie along its result's last dimension;
/// nothing if there is none, or several, or its tensor is read in another way as well.
std::optional<Read> transposedRead(mlir::Operation *op);

} // namespace headrace::cuda
