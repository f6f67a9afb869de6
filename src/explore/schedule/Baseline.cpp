#include "explore/schedule/Baseline.h"

#include <limits>
#include <queue>
#include <tuple>

namespace headrace::explore {

namespace {

struct Gap {
  int64_t begin, end;
};

constexpr int64_t never = std::numeric_limits<int64_t>::max();

// The work from the start of a task to the end of the program.
std::vector<int64_t> upwardRanks(const TaskGraph &graph) {
  std::vector<int64_t> rank(graph.size());
  for (auto task = graph.topologicalOrder().rbegin(); task != graph.topologicalOrder().rend();
       ++task) {
    for (int edge : graph.edgesOutOf(*task))
      rank[*task] = std::max(rank[*task], rank[graph.edges()[edge].to]);
    rank[*task] += graph.tasks()[*task].work();
  }
  return rank;
}

// Every task after its predecessors: what has no work has no larger rank than its successors.
std::vector<int> byPriority(const TaskGraph &graph) {
  std::vector<int64_t> rank = upwardRanks(graph);
  std::vector<int> place(graph.size());
  for (int i = 0; i < graph.size(); ++i)
    place[graph.topologicalOrder()[i]] = i;
  using Key = std::tuple<int64_t, size_t, int>; // rank, successors, earlier place
  std::priority_queue<Key> ready;
  auto push = [&](int task) {
    ready.emplace(rank[task], graph.edgesOutOf(task).size(), -place[task]);
  };
  std::vector<size_t> missing(graph.size());
  for (int task = 0; task < graph.size(); ++task)
    missing[task] = graph.edgesInto(task).size();
  std::vector<int> order;
  push(graph.source());
  while (!ready.empty()) {
    int task = graph.topologicalOrder()[-std::get<2>(ready.top())];
    ready.pop();
    order.push_back(task);
    for (int edge : graph.edgesOutOf(task))
      if (--missing[graph.edges()[edge].to] == 0)
        push(graph.edges()[edge].to);
  }
  return order;
}

// Gaps of a processing element, by time; the last one has no end.
class ProcessingElement {
public:
  /// The earliest start of `work` cycles, and the gap it falls into.
  std::pair<int64_t, size_t> earliest(int64_t ready, int64_t work) const {
    for (size_t gap = 0;; ++gap) {
      int64_t start = std::max(ready, gaps[gap].begin);
      if (gaps[gap].end - start >= work)
        return {start, gap};
    }
  }

  void occupy(size_t gap, int64_t begin, int64_t end) {
    Gap before = {gaps[gap].begin, begin}, after = {end, gaps[gap].end};
    gaps[gap] = after;
    if (before.begin < before.end)
      gaps.insert(gaps.begin() + static_cast<std::ptrdiff_t>(gap), before);
    else if (after.begin == after.end)
      gaps.erase(gaps.begin() + static_cast<std::ptrdiff_t>(gap));
  }

private:
  std::vector<Gap> gaps = {{0, never}};
};

class ListScheduler {
public:
  ListScheduler(const TaskGraph &graph, int processingElements)
      : graph(graph), elements(processingElements) {
    result.tasks.resize(graph.size());
  }

  void place(int number) {
    BaselineTask &task = result.tasks[number];
    for (int edge : graph.edgesInto(number))
      task.start = std::max(task.start, result.tasks[graph.edges()[edge].from].end);
    task.end = task.start;
    if (int64_t work = graph.tasks()[number].work(); work > 0)
      occupy(task, work);
  }

  Baseline result;

private:
  void occupy(BaselineTask &task, int64_t work) {
    int64_t ready = task.start;
    size_t gap = 0;
    task.start = never;
    for (size_t element = 0; element < elements.size() && task.start > ready; ++element)
      if (auto [start, found] = elements[element].earliest(ready, work); start < task.start) {
        task.start = start;
        task.processingElement = static_cast<int>(element);
        gap = found;
      }
    task.end = task.start + work;
    elements[task.processingElement].occupy(gap, task.start, task.end);
    result.makespan = std::max(result.makespan, task.end);
  }

  const TaskGraph &graph;
  std::vector<ProcessingElement> elements;
};

} // namespace

Baseline scheduleWithoutStreams(const TaskGraph &graph, int processingElements) {
  ListScheduler scheduler(graph, processingElements);
  for (int task : byPriority(graph))
    scheduler.place(task);
  return std::move(scheduler.result);
}

} // namespace headrace::explore
