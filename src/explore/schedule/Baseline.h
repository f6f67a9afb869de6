// Schedules without streaming, to compare with: a task starts when its predecessors have ended.
#pragma once

#include "explore/graph/TaskGraph.h"

namespace headrace::explore {

struct BaselineTask {
  int processingElement = -1; ///< -1 for what takes none
  int64_t start = 0, end = 0;
};

struct Baseline {
  std::vector<BaselineTask> tasks;
  int64_t makespan = 0;
};

/// Tasks in the order of the work that is left after them (critical path first), those with more
/// successors first; each if it ends first, in gaps between others, too.
Baseline scheduleWithoutStreams(const TaskGraph &graph, int processingElements);

} // namespace headrace::explore
