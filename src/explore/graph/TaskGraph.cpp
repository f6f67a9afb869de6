#include "explore/graph/TaskGraph.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <unordered_set>

namespace headrace::explore {

namespace {

[[noreturn]] void refuse(const std::string &message) {
  throw Error(ErrorKind::InvalidArgument, message);
}

std::string elements(int64_t count) {
  return std::to_string(count) + (count == 1 ? " element" : " elements");
}

} // namespace

std::string_view Task::kindName() const {
  switch (kind) {
  case TaskKind::Source:
    return "source";
  case TaskKind::Sink:
    return "sink";
  case TaskKind::Buffer:
    return "buffer";
  case TaskKind::Compute:
    return input == output ? "element-wise" : input > output ? "downsampler" : "upsampler";
  }
  return "";
}

int TaskGraph::add(Task task) {
  nodes.push_back(std::move(task));
  into.emplace_back();
  outOf.emplace_back();
  return size() - 1;
}

int TaskGraph::connect(int from, int to) {
  if (from < 0 || from >= size() || to < 0 || to >= size())
    throw InternalError("an edge of a task graph connects tasks that do not exist");
  int edge = static_cast<int>(arcs.size());
  arcs.push_back({from, to});
  outOf[from].push_back(edge);
  into[to].push_back(edge);
  return edge;
}

int64_t TaskGraph::weight(int edge) const {
  const Task &from = nodes[arcs[edge].from];
  return from.kind == TaskKind::Source ? nodes[arcs[edge].to].input : from.output;
}

void TaskGraph::validate() {
  checkSizes();
  checkNames();
  for (int task = 0; task < size(); ++task)
    checkTask(task);
  for (const Edge &edge : arcs)
    checkEdge(edge);
  checkTwins();
  // Every task has a predecessor and a successor: without circles, all are on the way from source
  // to sink.
  orderTopologically();
}

void TaskGraph::checkSizes() const {
  if (nodes.size() > maxTasks || arcs.size() > maxEdges)
    refuse("expected a task graph of at most " + std::to_string(maxTasks) + " tasks and " +
           std::to_string(maxEdges) + " edges, got " + std::to_string(nodes.size()) + " and " +
           std::to_string(arcs.size()));
  for (auto [kind, word] :
       {std::pair(TaskKind::Source, "source"), std::pair(TaskKind::Sink, "sink")}) {
    auto count = std::ranges::count(nodes, kind, &Task::kind);
    if (count != 1)
      refuse("expected one " + std::string(word) + ", got " + std::to_string(count));
  }
}

void TaskGraph::checkNames() const {
  std::unordered_set<std::string_view> names;
  for (const Task &task : nodes) {
    if (task.name.empty())
      refuse("expected a name for every task, got one without (" + std::string(task.kindName()) +
             ")");
    if (!names.insert(task.name).second)
      refuse("task " + inQuotes(task.name) + ": there are two of that name");
  }
}

void TaskGraph::checkTask(int number) const {
  const Task &task = nodes[number];
  std::string start = "task " + inQuotes(task.name) + ": expected ";
  bool place = task.kind == TaskKind::Source || task.kind == TaskKind::Sink;
  auto checkVolume = [&](int64_t volume, const char *what) {
    if (place ? volume != 0 : volume < 1 || volume > maxVolume)
      refuse(start + "an " + what + (place ? " of 0" : " of 1 to " + std::to_string(maxVolume)) +
             " elements, got " + std::to_string(volume));
  };
  auto checkNeighbours = [&](const std::vector<int> &edges, TaskKind without, const char *what) {
    if (edges.empty() != (task.kind == without))
      refuse(start + (edges.empty() ? "a " : "no ") + what + ", got " +
             (edges.empty() ? "none" : std::to_string(edges.size())));
  };
  checkVolume(task.input, "input");
  checkVolume(task.output, "output");
  checkNeighbours(into[number], TaskKind::Source, "predecessor");
  checkNeighbours(outOf[number], TaskKind::Sink, "successor");
}

// The source gives every task what it reads, the sink takes what it is given.
void TaskGraph::checkEdge(const Edge &edge) const {
  const Task &from = nodes[edge.from], &to = nodes[edge.to];
  std::string start = "edge from " + inQuotes(from.name) + " to " + inQuotes(to.name) + ": ";
  if (from.kind == TaskKind::Source && to.kind == TaskKind::Sink)
    refuse(start + "expected a task between source and sink, got none");
  if (from.kind == TaskKind::Source || to.kind == TaskKind::Sink)
    return;
  if (from.output != to.input)
    refuse(start + "expected " + elements(to.input) + ", the input of " + inQuotes(to.name) +
           ", got " + elements(from.output) + ", the output of " + inQuotes(from.name));
}

void TaskGraph::orderTopologically() {
  order.clear();
  order.reserve(nodes.size());
  std::vector<size_t> missing(nodes.size());
  std::priority_queue<int, std::vector<int>, std::greater<>> ready;
  for (int task = 0; task < size(); ++task) {
    missing[task] = into[task].size();
    if (missing[task] == 0)
      ready.push(task);
  }
  while (!ready.empty()) {
    int task = ready.top();
    ready.pop();
    order.push_back(task);
    for (int edge : outOf[task])
      if (--missing[arcs[edge].to] == 0)
        ready.push(arcs[edge].to);
  }
  for (int task = 0; task < size(); ++task)
    if (missing[task] != 0)
      refuse("task " + inQuotes(nodes[task].name) +
             ": it waits for its own result, expected an acyclic graph");
}

void TaskGraph::checkTwins() const {
  std::unordered_set<uint64_t> seen;
  for (const Edge &edge : arcs)
    if (!seen.insert(static_cast<uint64_t>(edge.from) << 32 | static_cast<uint32_t>(edge.to))
             .second)
      refuse("edge from " + inQuotes(nodes[edge.from].name) + " to " +
             inQuotes(nodes[edge.to].name) + ": it exists twice");
}

} // namespace headrace::explore
