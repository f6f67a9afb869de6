#include "explore/schedule/ExpectedTimes.h"

#include "explore/schedule/TaskTimes.h"

#include <utility>

namespace headrace::explore {

namespace {

class Expectation {
public:
  Expectation(const TaskGraph &graph, const Schedule &schedule, const std::vector<int64_t> &paces)
      : graph(graph), schedule(schedule), paces(paces), largestAfter(graph.size()),
        excludedBy(graph.size(), -1), reachedBy(graph.size(), -1) {
    for (auto task = graph.topologicalOrder().rbegin(); task != graph.topologicalOrder().rend();
         ++task) {
      largestAfter[*task] = graph.tasks()[*task].work();
      forEachStream(*task, /*forwards=*/true, [&](int next) {
        largestAfter[*task] = std::max(largestAfter[*task], largestAfter[next]);
      });
    }
  }

  void time(int number, const Neighbours &neighbours, ScheduledTask &times) {
    const Task &task = graph.tasks()[number];
    int64_t share = task.rate().ceiling(); // of the output, that the last element read gives
    int64_t lastRead = std::max(neighbours.lastArrival, times.start + task.input - 1);
    times.firstOutput =
        std::min(times.start + collecting(number, neighbours.streamsIn), lastRead) + 1;
    // If others wait for its end, it counts that everybody may hold up its streams.
    Fraction out = 1;
    if (neighbours.streamsOut)
      out = Fraction::ratio(neighbours.endIsWaitedFor ? paces[number] : largestAfter[number],
                            task.output);
    times.end =
        std::max(lastRead + share, times.firstOutput + (out * Fraction(task.output - 1)).ceiling());
  }

private:
  // Cycles until all elements are read that the first output takes.
  int64_t collecting(int number, bool streamsIn) {
    const Task &task = graph.tasks()[number];
    int64_t further = (task.input - 1) / task.output; // after the first one
    if (further == 0 || !streamsIn)
      return further;
    return (Fraction::ratio(largestBefore(number), task.input) * Fraction(further)).ceiling();
  }

  // The largest volume among the tasks that streams join to this one without those after it.
  int64_t largestBefore(int task) {
    ++search;
    stack = {task};
    while (!stack.empty())
      forEachStream(take(), /*forwards=*/true, [&](int next) {
        if (std::exchange(excludedBy[next], search) != search)
          stack.push_back(next);
      });
    int64_t volume = 0;
    reachedBy[task] = search;
    stack = {task};
    while (!stack.empty() && volume < paces[task]) {
      int at = take();
      volume = std::max(volume, graph.tasks()[at].work());
      for (bool forwards : {false, true})
        forEachStream(at, forwards, [&](int next) {
          if (excludedBy[next] != search && std::exchange(reachedBy[next], search) != search)
            stack.push_back(next);
        });
    }
    return volume;
  }

  int take() {
    int task = stack.back();
    stack.pop_back();
    return task;
  }

  template <typename Visit> void forEachStream(int task, bool forwards, Visit visit) const {
    for (int edge : forwards ? graph.edgesOutOf(task) : graph.edgesInto(task))
      if (schedule.edges[edge].streams)
        visit(forwards ? graph.edges()[edge].to : graph.edges()[edge].from);
  }

  const TaskGraph &graph;
  const Schedule &schedule;
  const std::vector<int64_t> &paces;
  std::vector<int64_t> largestAfter;
  int search = -1;
  std::vector<int> excludedBy, reachedBy, stack;
};

} // namespace

std::vector<ScheduledTask> expectedTimes(const TaskGraph &graph, const Schedule &schedule,
                                         const std::vector<int64_t> &paces) {
  Expectation expectation(graph, schedule, paces);
  return timesOf(graph, schedule,
                 [&](int task, const Neighbours &neighbours, ScheduledTask &times) {
                   expectation.time(task, neighbours, times);
                 });
}

} // namespace headrace::explore
