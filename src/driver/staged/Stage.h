// A program of some nodes of a graph, and what it was made for.
#pragma once

#include "driver/Model.h"
#include "runtime/value/RuntimeValue.h"

#include <memory>
#include <vector>

namespace headrace::staged {

class GraphPlan;

/// A value that a program was compiled for: the program serves only these elements, except that the
/// elements listed in `open` may be any integer of 1 or more.
struct NeededValue {
  int value; // of the plan, by number
  Tensor tensor;
  std::vector<size_t> open;
};

struct Stage {
  std::vector<size_t> nodes;
  std::vector<int> inputs, outputs; // values of the plan, by number
  std::vector<NeededValue> needed;
  /// The number, in `inputs`, of an input whose dimensions are the open elements of a needed value:
  /// it stands for that value instead of a value of the plan.
  static int bringing(size_t needed) { return -1 - static_cast<int>(needed); }
  static size_t broughtBy(int input) { return static_cast<size_t>(-1 - input); }
  /// For each input the sizes that it was made with, and which of them may be others: multiples of
  /// these, 0 for a size that may not.
  std::vector<Shape> sizes;
  std::vector<Shape> steps;
  std::shared_ptr<Model> model;
};

/// Whether two tensors are the same: type, shape and elements.
bool isSame(const Tensor &a, const Tensor &b);
/// An integer of a tensor of them.
int64_t integerAt(const Tensor &tensor, size_t element);
/// A tensor without elements that has open ones of a value as its sizes.
Tensor asSizes(const Tensor &value, const std::vector<size_t> &open);

} // namespace headrace::staged
