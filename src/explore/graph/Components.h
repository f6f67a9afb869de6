#pragma once

#include <numeric>
#include <vector>

namespace headrace::explore {

/// Sets of tasks that are joined one by one; each is known by one of its tasks.
class Components {
public:
  explicit Components(int size) : parent(size) { std::iota(parent.begin(), parent.end(), 0); }

  int of(int task) {
    while (parent[task] != task)
      task = parent[task] = parent[parent[task]];
    return task;
  }
  void join(int a, int b) { parent[of(a)] = of(b); }

private:
  std::vector<int> parent;
};

} // namespace headrace::explore
