// Work of a task graph, and lower bounds of its time that hold for every schedule.
#pragma once

#include "explore/graph/TaskGraph.h"

namespace headrace::explore {

/// Cycles of one processing element for all tasks.
int64_t totalWork(const TaskGraph &graph);

/// Elements that all edges carry.
int64_t totalVolume(const TaskGraph &graph);

/// The longest way from source to sink if every task waits for the end of its predecessors: no
/// schedule without streaming is shorter.
int64_t criticalPath(const TaskGraph &graph);

/// The critical path if a task may start one cycle after its predecessors, as soon as their first
/// element is available, unless a buffer is between them: a lower bound for every schedule.
int64_t streamingCriticalPath(const TaskGraph &graph);

/// The depth by which the literature normalizes streaming schedules: the largest sum of volume and
/// level over all parts that buffers separate. A level is a way from the source on which every task
/// counts its rate, if that is above 1, else 1.
double streamingDepth(const TaskGraph &graph);

} // namespace headrace::explore
