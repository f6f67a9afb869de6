// A region of a graph: nodes that run as one program, what they read and write, what the program
// holds for, and its code.
#pragma once

#include "runtime/program/Executable.h"
#include "runtime/program/Explanation.h"
#include "runtime/value/RuntimeValue.h"

#include <memory>
#include <span>
#include <vector>

namespace headrace::adaptive {

/// The code of a region: compiled when it is needed, or long before. An executor does not care.
class RegionCode {
public:
  virtual ~RegionCode() = default;
  virtual const std::vector<TensorSpec> &inputs() const = 0;
  /// Whether it serves inputs of these shapes.
  virtual bool accepts(std::span<const Tensor> inputs) const = 0;
  /// The executable for inputs of these shapes; compiled now if it does not exist yet.
  virtual std::shared_ptr<const Executable> executable(std::span<const Tensor> inputs) = 0;
  /// Runs the executable for these inputs.
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs) {
    return executable(inputs)->run(inputs);
  }
  /// Records a call of the executable by others than `run`: these sizes may become worth a version
  /// of their own.
  virtual void addCall(std::span<const Tensor> inputs, double microseconds) {
    (void)inputs, (void)microseconds;
  }
  virtual Explanation explain() = 0;
};

/// A value that a program was compiled for: the program serves only these elements, except that the
/// elements listed in `open` may be any integer of 1 or more.
struct NeededValue {
  int value; // of the graph, by number
  Tensor tensor;
  std::vector<size_t> open;

  bool serves(const Tensor &found) const;
};

struct Region {
  std::vector<size_t> nodes;        // of the graph
  std::vector<int> inputs, outputs; // values of the graph, by number
  std::vector<NeededValue> needed;
  /// The number, in `inputs`, of an input whose dimensions are the open elements of a needed value:
  /// it stands for that value instead of a value of the graph.
  static int encodeShapeInput(size_t needed) { return -1 - static_cast<int>(needed); }
  static size_t decodeShapeInput(int input) { return static_cast<size_t>(-1 - input); }
  /// For each input the sizes that it was made with, and which of them may be others: multiples of
  /// these, 0 for a size that may not.
  std::vector<Shape> sizes, steps;
  std::shared_ptr<RegionCode> code;
};

/// Whether two tensors are the same: type, shape and elements.
bool isSame(const Tensor &a, const Tensor &b);
/// An element of a tensor of i32 or i64.
int64_t integerAt(const Tensor &tensor, size_t element);
/// A tensor without elements that has open elements of a value as its sizes, after a size of 0.
Tensor asSizes(const Tensor &value, const std::vector<size_t> &open);

} // namespace headrace::adaptive
