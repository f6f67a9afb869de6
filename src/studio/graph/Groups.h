// Groups of a program's nodes: by the paths in their names ("/layer.0/attention/MatMul"), and by
// repetition: blocks that stand one after the other and are equal in structure become one group of
// blocks, whatever their names. Groups are found once, in the first phase, and nodes of later
// phases take the groups of the operators that they come from: a node is found where it was.
#pragma once

#include "studio/graph/Graph.h"
#include <string>
#include <unordered_map>
#include <vector>

namespace headrace::studio {

struct Group {
  std::string name;
  int parent = -1; // the root's
  /// How many equal blocks it holds; 0 for other groups.
  int blocks = 0;
};

class Groups {
public:
  /// Finds the groups of a program after its first phase.
  explicit Groups(const Graph &first);

  /// The groups; the first is the root, and every other comes after its parent.
  const std::vector<Group> &all() const { return groups; }
  /// The group of each node of the program after any phase: of the operators that the node comes
  /// from, else of the node before.
  std::vector<int> of(const Graph &graph) const;

private:
  std::vector<Group> groups;
  std::unordered_map<std::string, int> byOperator;
};

} // namespace headrace::studio
