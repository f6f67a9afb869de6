// Random graphs of known shapes, with volumes drawn by the rules of the paper on streaming task
// graphs whose medians the tests compare with: with a probability of one third a task writes as
// many elements as it reads, else its rate is one of 1/4, 1/3, 1/2, 2, 3 and 4.
#pragma once

#include "explore/graph/TaskGraph.h"

#include <random>

namespace headrace::explore::test {

/// The numbers that Python's `random` draws from a seed, so that graphs are those of the paper.
class Draw {
public:
  explicit Draw(uint32_t seed);
  /// From 0 to below `count`.
  int64_t below(int64_t count);
  /// The volume that follows on `volume`.
  int64_t volumeAfter(int64_t volume);

private:
  std::mt19937 engine;
};

TaskGraph chainGraph(int tasks, int64_t volume, Draw &draw);
/// A tree of calls, then the butterflies; one draw a level.
TaskGraph fftGraph(int points, int64_t volume, Draw &draw);
/// One draw a row.
TaskGraph gaussianEliminationGraph(int size, int64_t volume, Draw &draw);
/// Left-looking Cholesky of size x size tiles; one draw per task, depth first, if its successors
/// leave a choice.
TaskGraph choleskyGraph(int size, int64_t volume, Draw &draw);
/// Any shape, with buffers; every task has up to three predecessors.
TaskGraph randomGraph(int tasks, int64_t volume, Draw &draw);

} // namespace headrace::explore::test
