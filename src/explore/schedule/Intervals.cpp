#include "explore/schedule/Intervals.h"

#include "explore/graph/Components.h"

namespace headrace::explore {

std::vector<ScheduledEdge> streamsWithinBlocks(const TaskGraph &graph,
                                               const std::vector<ScheduledTask> &tasks) {
  std::vector<ScheduledEdge> edges(graph.edges().size());
  for (size_t edge = 0; edge < edges.size(); ++edge) {
    auto [from, to] = graph.edges()[edge];
    edges[edge].streams = graph.tasks()[from].computes() && graph.tasks()[to].computes() &&
                          tasks[from].block == tasks[to].block;
  }
  return edges;
}

std::vector<int64_t> setIntervals(const TaskGraph &graph, std::vector<ScheduledEdge> &edges) {
  Components components(graph.size());
  for (size_t edge = 0; edge < edges.size(); ++edge)
    if (edges[edge].streams)
      components.join(graph.edges()[edge].from, graph.edges()[edge].to);
  std::vector<int64_t> largest(graph.size());
  for (int task = 0; task < graph.size(); ++task) {
    int64_t &volume = largest[components.of(task)];
    volume = std::max(volume, graph.tasks()[task].work());
  }
  for (size_t edge = 0; edge < edges.size(); ++edge)
    if (edges[edge].streams)
      edges[edge].interval = Fraction::ratio(largest[components.of(graph.edges()[edge].from)],
                                             graph.weight(static_cast<int>(edge)));
  std::vector<int64_t> paces(graph.size());
  for (int task = 0; task < graph.size(); ++task)
    paces[task] = largest[components.of(task)];
  return paces;
}

} // namespace headrace::explore
