// Graphs for tests of layouts.
#pragma once

#include "studio/graph/Graph.h"
#include <random>
#include <string>

namespace headrace::studio::test {

inline int addNode(Graph &graph, const std::string &id, const std::string &kind,
                   const std::vector<int> &operands) {
  Node node;
  node.id = id;
  node.kind = kind;
  node.operators = {id};
  int number = static_cast<int>(graph.nodes.size());
  graph.nodes.push_back(node);
  for (int operand : operands)
    graph.edges.push_back({operand, number, 64, "f32[4,4]"});
  return number;
}

/// Blocks of nodes that have no paths in their names, one after the other.
inline Graph blocksOf(int blocks, int nodes) {
  const char *kinds[] = {"contract", "map", "softmax", "map", "reduce"};
  Graph graph;
  int last = addNode(graph, "x", "input", {});
  for (int b = 0; b < blocks; ++b) {
    int before = last;
    for (int n = 0; n < nodes; ++n) {
      std::vector<int> operands = {last};
      if (n % 4 == 3)
        operands.push_back(before);
      last = addNode(graph, "n" + std::to_string(b * nodes + n), kinds[n % 5], operands);
    }
  }
  addNode(graph, "y", "output", {last});
  return graph;
}

/// Nodes that read others near before them, the same each time.
inline Graph randomGraph(int nodes, unsigned seed) {
  std::mt19937 random(seed);
  Graph graph;
  addNode(graph, "x", "input", {});
  for (int n = 1; n < nodes; ++n) {
    auto before = [&] { return std::max(0, n - 1 - static_cast<int>(random() % 9)); };
    addNode(graph, "n" + std::to_string(n), "kind" + std::to_string(random() % 7),
            {before(), before()});
  }
  return graph;
}

} // namespace headrace::studio::test
