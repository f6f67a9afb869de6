#include "explore/schedule/SpatialBlocks.h"

#include "runtime/system/Error.h"

#include <set>

namespace headrace::explore {

namespace {

constexpr int none = -1;

// Tasks that are ready stand in one of three sets, by what the current block makes of them.
class Partition {
public:
  Partition(const TaskGraph &graph, int processingElements, Partitioner partitioner)
      : graph(graph), processingElements(processingElements), partitioner(partitioner),
        missing(graph.size()), blockOf(graph.size(), none), firstSource(graph.size(), none) {
    for (int task = 0; task < graph.size(); ++task)
      missing[task] = graph.edgesInto(task).size();
  }

  std::vector<std::vector<int>> make() {
    openBlock();
    release(graph.source());
    while (!independent.empty() || !fitting.empty() || !heavy.empty()) {
      if (!independent.empty())
        place(*independent.begin(), /*asSource=*/true);
      else if (!fitting.empty())
        place(std::prev(fitting.end())->second, /*asSource=*/false);
      else if (partitioner == Partitioner::Relaxed)
        place(heavy.begin()->second, /*asSource=*/false);
      else
        openBlockWith(heaviest());
    }
    if (blocks.back().empty())
      blocks.pop_back();
    return std::move(blocks);
  }

private:
  int64_t work(int task) const { return graph.tasks()[task].work(); }

  // The first of those with the most work.
  int heaviest() const { return heavy.lower_bound({std::prev(heavy.end())->first, none})->second; }

  void openBlock() {
    blocks.emplace_back();
    sources.clear();
    busy = 0;
    // Nothing depends on a source of the new block.
    for (auto *set : {&fitting, &heavy}) {
      for (auto [weight, task] : *set)
        independent.insert(task);
      set->clear();
    }
  }

  void openBlockWith(int task) {
    openBlock();
    place(task, /*asSource=*/true);
  }

  void place(int task, bool asSource) {
    independent.erase(task);
    fitting.erase({work(task), task});
    heavy.erase({work(task), task});
    blockOf[task] = static_cast<int>(blocks.size()) - 1;
    blocks.back().push_back(task);
    firstSource[task] = firstSourceBefore(task);
    if (asSource) {
      sources.push_back(task);
      firstSource[task] = static_cast<int>(sources.size()) - 1;
    }
    busy += graph.tasks()[task].computes() ? 1 : 0;
    release(task);
    if (busy >= processingElements)
      openBlock();
  }

  // Of the block's sources that the task depends on, the one that came first. A way from a source
  // of this block to the task leads through this block alone: so predecessors tell.
  int firstSourceBefore(int task) const {
    int first = none;
    for (int edge : graph.edgesInto(task)) {
      int from = graph.edges()[edge].from;
      if (blockOf[from] != static_cast<int>(blocks.size()) - 1 || firstSource[from] == none)
        continue;
      first = first == none ? firstSource[from] : std::min(first, firstSource[from]);
    }
    return first;
  }

  void release(int task) {
    for (int edge : graph.edgesOutOf(task)) {
      int next = graph.edges()[edge].to;
      if (--missing[next] == 0 && next != graph.sink())
        makeReady(next);
    }
  }

  void makeReady(int task) {
    int first = firstSourceBefore(task);
    if (first == none)
      independent.insert(task);
    else if (graph.tasks()[task].kind == TaskKind::Buffer || work(task) <= work(sources[first]))
      fitting.insert({work(task), task});
    else
      heavy.insert({work(task), task});
  }

  const TaskGraph &graph;
  int processingElements;
  Partitioner partitioner;
  std::vector<size_t> missing;
  std::vector<int> blockOf, firstSource;
  std::vector<std::vector<int>> blocks;
  std::vector<int> sources; // of the current block
  int busy = 0;             // its tasks that compute
  std::set<int> independent;
  std::set<std::pair<int64_t, int>> fitting, heavy; // by work, then number
};

} // namespace

std::string_view nameOf(Partitioner partitioner) {
  return partitioner == Partitioner::LargestFirst ? "lts" : "rlx";
}

std::vector<std::vector<int>> spatialBlocks(const TaskGraph &graph, int processingElements,
                                            Partitioner partitioner) {
  if (processingElements < 1)
    throw Error(ErrorKind::InvalidArgument, "expected at least 1 processing element, got " +
                                                std::to_string(processingElements));
  return Partition(graph, processingElements, partitioner).make();
}

} // namespace headrace::explore
