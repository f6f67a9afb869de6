// The tasks of a graph cut into blocks that run one after the other. The tasks of a block run at
// the same time, each on a processing element of its own, and stream to each other.
#pragma once

#include "explore/graph/TaskGraph.h"

namespace headrace::explore {

/// Both fill a block with tasks that have no more work than the task the block began with and on
/// which they depend: what has more would slow it down. If only such tasks are left,
enum class Partitioner {
  LargestFirst, ///< the one with the most work opens a new block (SB-LTS)
  Relaxed       ///< the one with the least work is taken all the same: blocks are full (SB-RLX)
};

/// "lts" or "rlx".
std::string_view nameOf(Partitioner partitioner);

/// Blocks in the order in which they run, each with its tasks and buffers in the order in which
/// they were chosen, predecessors first, with at most `processingElements` tasks that compute.
/// Source and sink are in none.
std::vector<std::vector<int>> spatialBlocks(const TaskGraph &graph, int processingElements,
                                            Partitioner partitioner);

} // namespace headrace::explore
