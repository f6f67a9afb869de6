// A canonical task graph: a program as tasks that pass each other streams of elements.
//
// Every edge into a task carries its input volume, every edge out of it its output volume, and a
// task handles one element of either in a cycle. So its work is the larger of both volumes, and its
// kind follows from their ratio. From one source, where the program's inputs come from, all tasks
// are reached, and all lead to one sink; both are only places, and cost nothing. A buffer stores
// all it reads before it gives anything on; it costs no time and no processing element.
#pragma once

#include "explore/graph/Fraction.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace headrace::explore {

enum class TaskKind { Source, Compute, Buffer, Sink };

struct Task {
  std::string name;
  TaskKind kind = TaskKind::Compute;
  int64_t input = 0;  ///< elements on each edge into it; 0 for source and sink
  int64_t output = 0; ///< elements on each edge out of it; 0 for source and sink
  /// The program's operators that the task computes, and where the user wrote them.
  std::vector<std::string> operators;
  std::string place;
  /// Points of the operators' iteration domains that it computes; none if it only moves elements
  /// or accumulates what others computed.
  int64_t points = 0;
  /// How many of the program's inputs the edge from the source stands for.
  int loads = 1;

  bool computes() const { return kind == TaskKind::Compute; }
  Fraction rate() const { return Fraction::ratio(output, input); }
  /// Cycles that a processing element is busy with it.
  int64_t work() const { return computes() ? std::max(input, output) : 0; }
  /// "source", "sink", "buffer", "element-wise", "downsampler" or "upsampler".
  std::string_view kindName() const;
};

struct Edge {
  int from, to;
};

/// Tasks are numbered in the order in which they are added.
class TaskGraph {
public:
  static constexpr int64_t maxVolume = int64_t{1} << 40;
  static constexpr size_t maxTasks = size_t{1} << 20, maxEdges = size_t{1} << 24;

  /// Both give the number of the new task or edge. Volumes that do not fit are found by `validate`.
  int add(Task task);
  int connect(int from, int to);

  /// Throws Error that names the task or edge if this is not a canonical task graph. Every function
  /// below, and every analysis of a graph, requires a graph that passed.
  void validate();

  std::string name;
  const std::vector<Task> &tasks() const { return nodes; }
  const std::vector<Edge> &edges() const { return arcs; }
  int size() const { return static_cast<int>(nodes.size()); }

  /// Edges by number, in the order in which they were connected.
  const std::vector<int> &edgesInto(int task) const { return into[task]; }
  const std::vector<int> &edgesOutOf(int task) const { return outOf[task]; }
  /// Elements that an edge carries.
  int64_t weight(int edge) const;
  /// Every task after its predecessors; among those that are ready, in the order of their numbers.
  const std::vector<int> &topologicalOrder() const { return order; }
  int source() const { return order.front(); }
  int sink() const { return order.back(); }

private:
  void checkSizes() const;
  void checkTask(int task) const;
  void checkEdge(const Edge &edge) const;
  void checkNames() const;
  void checkTwins() const;
  void orderTopologically();

  std::vector<Task> nodes;
  std::vector<Edge> arcs;
  std::vector<std::vector<int>> into, outOf;
  std::vector<int> order;
};

} // namespace headrace::explore
