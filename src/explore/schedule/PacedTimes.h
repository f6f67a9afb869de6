// Times of a schedule in which every stream keeps its settled pace from the first element on. Such
// a schedule never waits within a stream, so buffers that hold what it leaves in them are enough:
// tasks that run by themselves are never later than in it, and never stall. They are earlier as
// long as streams have not settled (ExpectedTimes.h).
#pragma once

#include "explore/schedule/Schedule.h"

namespace headrace::explore {

/// Times of all tasks of a schedule whose blocks and streams are known.
std::vector<ScheduledTask> pacedTimes(const TaskGraph &graph, const Schedule &schedule,
                                      const std::vector<int64_t> &paces);

/// Elements that the buffer of a stream holds under those times.
int64_t capacityOf(int edge, const TaskGraph &graph, const Schedule &schedule,
                   const std::vector<ScheduledTask> &paced);

} // namespace headrace::explore
