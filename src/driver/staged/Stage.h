// A program of some nodes of a graph, and what it was made for.
#pragma once

#include "driver/Model.h"
#include "runtime/value/RuntimeValue.h"

#include <memory>
#include <vector>

namespace headrace::staged {

class GraphPlan;

struct Stage {
  std::vector<size_t> nodes;
  std::vector<int> inputs, outputs; // values of the plan, by number
  /// Values that it was made for, and holds for alone.
  std::vector<std::pair<int, Tensor>> fixed;
  /// For each input the sizes that it was made with, and which of them may be others: multiples of
  /// these, 0 for a size that may not.
  std::vector<Shape> sizes;
  std::vector<Shape> steps;
  std::shared_ptr<Model> model;
};

/// Whether two tensors are the same: type, shape and elements.
bool isSame(const Tensor &a, const Tensor &b);

} // namespace headrace::staged
