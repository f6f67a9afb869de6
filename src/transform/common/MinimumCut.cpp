#include "transform/common/MinimumCut.h"

#include <algorithm>

namespace headrace {

int MinimumCut::addNode() {
  outgoing.emplace_back();
  return static_cast<int>(outgoing.size()) - 1;
}

void MinimumCut::addEdge(int from, int to, int64_t capacity) {
  outgoing[from].push_back(static_cast<int>(edges.size()));
  edges.push_back({to, capacity});
  outgoing[to].push_back(static_cast<int>(edges.size()));
  edges.push_back({from, 0});
}

std::vector<int> MinimumCut::search(int source) const {
  // The source itself is marked by an edge number that no edge has.
  std::vector<int> cameBy(outgoing.size(), -1);
  cameBy[source] = static_cast<int>(edges.size());
  std::vector<int> queue{source};
  for (size_t head = 0; head < queue.size(); ++head)
    for (int edge : outgoing[queue[head]])
      if (edges[edge].capacity > 0 && cameBy[edges[edge].to] < 0) {
        cameBy[edges[edge].to] = edge;
        queue.push_back(edges[edge].to);
      }
  return cameBy;
}

/// Sends flow along shortest paths until none is left (Edmonds and Karp); what the source still
/// reaches is its side of the cut.
std::vector<bool> MinimumCut::sourceSide(int source, int sink) {
  while (true) {
    std::vector<int> cameBy = search(source);
    if (cameBy[sink] < 0) {
      std::vector<bool> side;
      for (int edge : cameBy)
        side.push_back(edge >= 0);
      return side;
    }
    int64_t flow = kUncut;
    for (int node = sink; node != source; node = edges[cameBy[node] ^ 1].to)
      flow = std::min(flow, edges[cameBy[node]].capacity);
    for (int node = sink; node != source; node = edges[cameBy[node] ^ 1].to) {
      edges[cameBy[node]].capacity -= flow;
      edges[cameBy[node] ^ 1].capacity += flow;
    }
  }
}

} // namespace headrace
