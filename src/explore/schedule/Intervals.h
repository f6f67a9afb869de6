#pragma once

#include "explore/schedule/Schedule.h"

namespace headrace::explore {

/// Edges between tasks of one block stream. Edges into a buffer do not: it takes elements at any
/// pace.
std::vector<ScheduledEdge> streamsWithinBlocks(const TaskGraph &graph,
                                               const std::vector<ScheduledTask> &tasks);

/// Sets the intervals of streams. Gives for every task the largest volume among the tasks that
/// streams join it to.
std::vector<int64_t> setIntervals(const TaskGraph &graph, std::vector<ScheduledEdge> &edges);

} // namespace headrace::explore
