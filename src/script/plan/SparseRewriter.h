#pragma once

#include "script/graph/Dag.h"
#include <span>

namespace headrace::script {

/// x - v or x + v: a sparse matrix and a scalar, row or column that is repeated over it.
struct Shifted {
  int x, v;      // old nodes
  Extent extent; // what one element of v is for
};

/// Rewrites a graph into one where functions of sparse matrices are functions of their values.
class SparseRewriter {
public:
  SparseRewriter(const Dag &from, std::span<std::pair<std::string, int>> results)
      : from(from), results(results), inner(from.nodes.size()), rewritten(from.nodes.size(), -1) {}

  void run(Dag &to) {
    findInner();
    for (size_t i = 0; i < from.nodes.size(); ++i)
      rewritten[i] = rewrite(static_cast<int>(i));
    to.nodes = std::move(nodes);
    for (auto &[name, node] : to.assigned)
      node = rewritten[node];
    for (auto &[name, node] : results)
      node = rewritten[node];
  }

private:
  void findInner();
  int rewrite(int id);
  bool hasSizeOf(int id, const Node &pattern) const;
  bool canSample(int id, const Node &pattern) const;
  int sample(int id, int pattern);
  int values(int pattern);
  int copy(Node node);
  int writeWhole(int id, int root, Dag &whole, std::vector<int> &leaves);
  int checked(int result, int expression, Op last);
  Known storedCells(int pattern) const;
  std::optional<double> atZero(int id, int &leaf) const;
  int atStoredCells(int id, int leaf, int pattern);
  int scalarCell(CellFunction function, int left, int right, ValueType type);
  int size(const Size &value, int pattern);
  int sumWithOtherCells(int id);
  std::optional<Shifted> shifted(int id) const;
  bool isSumOfSquaredDeviations(int id) const;
  bool needsNoCells(int id) const;
  int sumOfSquaredDeviations(int id);
  int sumOfShifted(int id);
  int productOfShifted(int id);

  const Dag &from;
  std::span<std::pair<std::string, int>> results;
  std::vector<std::vector<int>> readers; // of old nodes; -1 for a result
  std::vector<bool> inner;    // old nodes that only functions of sparse matrices' cells read
  std::vector<int> rewritten; // old node to new
  std::vector<Node> nodes;    // the new graph
  std::map<int, int> valuesOf;
  std::map<std::pair<int, int>, int> sampledOf;
};

/// The node of WithValues that a new node is, or checks; else null.
const Node *storedIn(const std::vector<Node> &nodes, int id);

/// A new node's pattern: its own, or that of what it was made from.
int patternIn(const std::vector<Node> &nodes, int id);

} // namespace headrace::script
