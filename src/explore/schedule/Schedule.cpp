#include "explore/schedule/Schedule.h"

#include "explore/schedule/ExpectedTimes.h"
#include "explore/schedule/Intervals.h"
#include "explore/schedule/PacedTimes.h"

namespace headrace::explore {

namespace {

// Whether any edge changed.
bool storeWhatIsHeldAnyway(const TaskGraph &graph, Schedule &schedule) {
  bool changed = false;
  for (size_t edge = 0; edge < schedule.edges.size(); ++edge) {
    ScheduledEdge &stream = schedule.edges[edge];
    int64_t weight = graph.weight(static_cast<int>(edge));
    if (stream.streams && (weight == 1 || weight - 1 <= stream.capacity)) {
      stream = {};
      changed = true;
    }
  }
  return changed;
}

// Intervals and capacities for the streams there are; gives the paces.
std::vector<int64_t> settleStreams(const TaskGraph &graph, Schedule &schedule) {
  std::vector<int64_t> paces = setIntervals(graph, schedule.edges);
  std::vector<ScheduledTask> paced = pacedTimes(graph, schedule, paces);
  for (size_t edge = 0; edge < schedule.edges.size(); ++edge)
    schedule.edges[edge].capacity = capacityOf(static_cast<int>(edge), graph, schedule, paced);
  schedule.bound = paced[graph.sink()].end;
  return paces;
}

} // namespace

Schedule schedule(const TaskGraph &graph, const ScheduleOptions &options) {
  Schedule result;
  result.options = options;
  result.blocks = spatialBlocks(graph, options.processingElements, options.partitioner);
  result.tasks.resize(graph.size());
  for (size_t block = 0; block < result.blocks.size(); ++block) {
    int element = 0;
    for (int task : result.blocks[block]) {
      result.tasks[task].block = static_cast<int>(block);
      result.tasks[task].processingElement = graph.tasks()[task].computes() ? element++ : -1;
    }
  }
  result.tasks[graph.sink()].block = static_cast<int>(result.blocks.size()) - 1;
  result.edges = streamsWithinBlocks(graph, result.tasks);
  std::vector<int64_t> paces = settleStreams(graph, result);
  for (int round = 0; round < options.storeRounds && storeWhatIsHeldAnyway(graph, result); ++round)
    paces = settleStreams(graph, result);
  result.tasks = expectedTimes(graph, result, paces);
  result.makespan = std::min(result.tasks[graph.sink()].end, result.bound);
  return result;
}

int64_t bufferSpace(const Schedule &schedule) {
  int64_t space = 0;
  for (const ScheduledEdge &edge : schedule.edges)
    space += edge.capacity;
  return space;
}

static int64_t offChipVolumeIf(const TaskGraph &graph, auto streams) {
  int64_t volume = 0;
  for (int number = 0; number < graph.size(); ++number) {
    const Task &task = graph.tasks()[number];
    bool writes = false;
    for (int edge : graph.edgesOutOf(number)) {
      if (streams(edge))
        continue;
      // Elements in a buffer are read there by its receivers only.
      TaskKind to = graph.tasks()[graph.edges()[edge].to].kind;
      writes = true;
      int64_t streams =
          task.kind == TaskKind::Source ? graph.tasks()[graph.edges()[edge].to].loads : 1;
      volume += to == TaskKind::Compute ? streams * graph.weight(edge) : 0;
    }
    volume += writes && task.computes() ? task.output : 0;
  }
  return volume;
}

int64_t offChipVolume(const TaskGraph &graph, const Schedule &schedule) {
  return offChipVolumeIf(graph, [&](int edge) { return schedule.edges[edge].streams; });
}

int64_t offChipVolumeWithoutStreams(const TaskGraph &graph) {
  return offChipVolumeIf(graph, [](int) { return false; });
}

int64_t minOffChipVolume(const TaskGraph &graph) {
  return offChipVolumeIf(graph, [&](int number) {
    const Edge &edge = graph.edges()[number];
    return graph.tasks()[edge.from].computes() && graph.tasks()[edge.to].computes();
  });
}

} // namespace headrace::explore
