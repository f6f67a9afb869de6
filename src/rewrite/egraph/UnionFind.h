#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace headrace::rewrite {

/// Disjoint sets of numbers; the caller says which of two sets names the united one.
class UnionFind {
public:
  uint32_t makeSet() {
    parents.push_back(static_cast<uint32_t>(parents.size()));
    return parents.back();
  }

  uint32_t find(uint32_t id) const {
    while (parents[id] != id)
      id = parents[id];
    return id;
  }

  /// The same; shortens the way for later ones.
  uint32_t find(uint32_t id) {
    while (parents[id] != id) {
      parents[id] = parents[parents[id]];
      id = parents[id];
    }
    return id;
  }

  void unite(uint32_t root, uint32_t other) { parents[other] = root; }
  size_t size() const { return parents.size(); }

private:
  std::vector<uint32_t> parents;
};

} // namespace headrace::rewrite
