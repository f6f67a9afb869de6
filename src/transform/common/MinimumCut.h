// The least total capacity of edges that separates two nodes of a directed graph.
#pragma once

#include <cstdint>
#include <vector>

namespace headrace {

class MinimumCut {
public:
  /// For edges that must not be cut.
  static constexpr int64_t kUncut = int64_t(1) << 60;

  int addNode();
  void addEdge(int from, int to, int64_t capacity);

  /// Whether each node stays with the source. Of all least cuts, the one that leaves it the fewest.
  std::vector<bool> sourceSide(int source, int sink);

private:
  struct Edge {
    int to;
    int64_t capacity; // what is left of it
  };

  /// For each node the edge by which a breadth-first search from the source reached it, -1 if it
  /// did not reach it.
  std::vector<int> search(int source) const;

  std::vector<Edge> edges; // edge i and its reverse i ^ 1
  std::vector<std::vector<int>> outgoing;
};

} // namespace headrace
