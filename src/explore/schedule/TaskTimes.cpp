#include "explore/schedule/TaskTimes.h"

namespace headrace::explore {

namespace {

Neighbours startOf(int number, const TaskGraph &graph, const Schedule &schedule,
                   const std::vector<ScheduledTask> &times, ScheduledTask &task) {
  Neighbours neighbours;
  for (int edge : graph.edgesInto(number)) {
    const ScheduledTask &from = times[graph.edges()[edge].from];
    bool streams = schedule.edges[edge].streams;
    task.start = std::max(task.start, streams ? from.firstOutput : from.end);
    neighbours.streamsIn |= streams;
    neighbours.lastArrival = std::max(neighbours.lastArrival, streams ? from.end : 0);
  }
  for (int edge : graph.edgesOutOf(number)) {
    int to = graph.edges()[edge].to;
    neighbours.streamsOut |= schedule.edges[edge].streams;
    neighbours.endIsWaitedFor |= !schedule.edges[edge].streams && to != graph.sink() &&
                                 schedule.tasks[to].block == schedule.tasks[number].block;
  }
  return neighbours;
}

} // namespace

std::vector<ScheduledTask> timesOf(const TaskGraph &graph, const Schedule &schedule,
                                   const TimeTask &timeTask) {
  std::vector<ScheduledTask> times = schedule.tasks;
  int64_t blockStart = 0;
  for (const std::vector<int> &block : schedule.blocks) {
    int64_t blockEnd = blockStart;
    for (int number : block) {
      ScheduledTask &task = times[number];
      task.start = blockStart;
      Neighbours neighbours = startOf(number, graph, schedule, times, task);
      task.firstOutput = task.end = task.start;
      if (graph.tasks()[number].computes())
        timeTask(number, neighbours, task);
      blockEnd = std::max(blockEnd, task.end);
    }
    blockStart = blockEnd;
  }
  ScheduledTask &sink = times[graph.sink()];
  sink.start = sink.firstOutput = sink.end = blockStart;
  return times;
}

} // namespace headrace::explore
