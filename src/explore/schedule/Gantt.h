// A schedule as a chart.
#pragma once

#include "explore/schedule/Schedule.h"

namespace headrace::explore {

/// An SVG with a lane for each processing element, and a colour for each operator (for each task
/// if the tasks name none). Lines stand where a block begins; tasks too short to be seen alone
/// are drawn as one with their neighbours.
std::string ganttSvg(const TaskGraph &graph, const Schedule &schedule, const std::string &title);

} // namespace headrace::explore
