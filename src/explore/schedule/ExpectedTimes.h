// Times at which tasks that run by themselves are expected to start and end.
//
// While a task collects what it takes for its first output, no task after it can hold its inputs
// up: they come at the pace of the tasks before it. Its output goes at the pace of the slowest
// after it, and it cannot end before the tasks that stream to it.
#pragma once

#include "explore/schedule/Schedule.h"

namespace headrace::explore {

std::vector<ScheduledTask> expectedTimes(const TaskGraph &graph, const Schedule &schedule,
                                         const std::vector<int64_t> &paces);

} // namespace headrace::explore
