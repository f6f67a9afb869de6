// A set of nodes of a graph, by number; compared often, as part of the key of regions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace headrace::adaptive {

class NodeSet {
public:
  /// Without nodes, of a graph of `nodes` nodes.
  explicit NodeSet(size_t nodes = 0) : words((nodes + kBits - 1) / kBits), left(nodes) {}

  bool contains(size_t node) const { return words[node / kBits] >> (node % kBits) & 1; }
  void insert(size_t node) {
    if (!contains(node))
      --left;
    words[node / kBits] |= uint64_t{1} << (node % kBits);
  }
  /// Whether it has all nodes of the graph.
  bool isFull() const { return left == 0; }

  /// In order.
  std::vector<size_t> nodes() const {
    std::vector<size_t> found;
    for (size_t node = 0; node < words.size() * kBits; ++node)
      if (contains(node))
        found.push_back(node);
    return found;
  }

  friend bool operator==(const NodeSet &, const NodeSet &) = default;

private:
  static constexpr size_t kBits = 64;
  std::vector<uint64_t> words;
  size_t left;
};

} // namespace headrace::adaptive
