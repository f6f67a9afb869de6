#include "explore/schedule/PacedTimes.h"

#include "explore/schedule/TaskTimes.h"

namespace headrace::explore {

namespace {

bool waitsForEndInBlock(int task, const TaskGraph &graph, const Schedule &schedule) {
  return std::ranges::any_of(graph.edgesInto(task), [&](int edge) {
    int from = graph.edges()[edge].from;
    return !schedule.edges[edge].streams && from != graph.source() &&
           schedule.tasks[from].block == schedule.tasks[task].block;
  });
}

} // namespace

std::vector<ScheduledTask> pacedTimes(const TaskGraph &graph, const Schedule &schedule,
                                      const std::vector<int64_t> &paces) {
  return timesOf(
      graph, schedule, [&](int number, const Neighbours &neighbours, ScheduledTask &times) {
        const Task &task = graph.tasks()[number];
        Fraction in =
            neighbours.streamsIn ? Fraction::ratio(paces[number], task.input) : Fraction(1);
        Fraction out =
            neighbours.streamsOut ? Fraction::ratio(paces[number], task.output) : Fraction(1);
        Fraction reads = task.rate() > Fraction(1) ? std::max(in, out * task.rate()) : in;
        times.firstOutput = times.start + beforeFirstOutput(task, reads);
        // Outputs of the last element read are written at one element per cycle, as is all output.
        int64_t lastRead = (in * Fraction(task.input - 1)).ceiling();
        times.end = times.start + std::max(lastRead + task.rate().ceiling(), task.output);
        if (neighbours.streamsOut)
          times.end =
              std::max(times.end, times.firstOutput + (out * Fraction(task.output - 1)).ceiling());
      });
}

// The elements that arrive before the receiver starts. In the cycle in which it starts, an element
// may take the room of another, unless the receiver waits for the end of a task that in turn may
// wait for that room.
int64_t capacityOf(int edge, const TaskGraph &graph, const Schedule &schedule,
                   const std::vector<ScheduledTask> &paced) {
  const ScheduledEdge &stream = schedule.edges[edge];
  if (!stream.streams)
    return 0;
  auto [from, to] = graph.edges()[edge];
  int64_t wait = paced[to].start - paced[from].firstOutput;
  if (waitsForEndInBlock(to, graph, schedule))
    ++wait;
  int64_t held = (Fraction(wait) / stream.interval).ceiling();
  return std::clamp(held, int64_t{1}, graph.weight(edge));
}

} // namespace headrace::explore
