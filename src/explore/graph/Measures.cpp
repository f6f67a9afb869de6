#include "explore/graph/Measures.h"

#include "explore/graph/Components.h"

#include <map>

namespace headrace::explore {

int64_t totalWork(const TaskGraph &graph) {
  int64_t work = 0;
  for (const Task &task : graph.tasks())
    work += task.work();
  return work;
}

int64_t totalVolume(const TaskGraph &graph) {
  int64_t volume = 0;
  for (size_t edge = 0; edge < graph.edges().size(); ++edge)
    volume += graph.weight(static_cast<int>(edge));
  return volume;
}

int64_t criticalPath(const TaskGraph &graph) {
  std::vector<int64_t> end(graph.size());
  for (int task : graph.topologicalOrder()) {
    for (int edge : graph.edgesInto(task))
      end[task] = std::max(end[task], end[graph.edges()[edge].from]);
    end[task] += graph.tasks()[task].work();
  }
  return end[graph.sink()];
}

int64_t streamingCriticalPath(const TaskGraph &graph) {
  std::vector<int64_t> start(graph.size()), end(graph.size());
  for (int task : graph.topologicalOrder()) {
    bool computes = graph.tasks()[task].computes();
    for (int edge : graph.edgesInto(task)) {
      int from = graph.edges()[edge].from;
      bool streams = computes && graph.tasks()[from].computes();
      start[task] = std::max(start[task], streams ? start[from] + 1 : end[from]);
      end[task] = std::max(end[task], streams ? end[from] : 0);
    }
    end[task] = std::max(end[task], start[task] + graph.tasks()[task].work());
  }
  return end[graph.sink()];
}

double streamingDepth(const TaskGraph &graph) {
  std::vector<double> level(graph.size());
  Components components(graph.size());
  for (int task : graph.topologicalOrder()) {
    for (int edge : graph.edgesInto(task)) {
      int from = graph.edges()[edge].from;
      level[task] = std::max(level[task], level[from]);
      if (graph.tasks()[from].computes() && task != graph.sink())
        components.join(from, task);
    }
    if (task != graph.source() && task != graph.sink())
      level[task] += std::max(graph.tasks()[task].rate().approximately(), 1.0);
  }
  struct Part {
    int64_t volume = 0;
    double level = 0;
  };
  std::map<int, Part> parts;
  for (int task = 0; task < graph.size(); ++task) {
    if (!graph.tasks()[task].computes())
      continue;
    Part &part = parts[components.of(task)];
    part.volume = std::max(part.volume, graph.tasks()[task].work());
    part.level = std::max(part.level, level[task]);
  }
  double depth = 0;
  for (const auto &[root, part] : parts)
    depth = std::max(depth, static_cast<double>(part.volume) + part.level);
  return depth;
}

} // namespace headrace::explore
