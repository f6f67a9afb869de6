// A chain of operators given by their sizes alone, and its task graphs:
//   {"name": "net", "input": [1, 28, 28],
//    "operators": [{"name": "conv1", "op": "convolution", "filters": [6, 5, 5]},
//                  {"name": "relu1", "op": "element-wise"},
//                  {"name": "pool1", "op": "max-pool", "window": [2, 2]},
//                  {"name": "flat", "op": "view", "shape": [864]},
//                  {"name": "fc1", "op": "linear", "outputs": 10},
//                  {"name": "softmax1", "op": "softmax"}]}
// Convolutions have stride 1 and no padding; windows of pools do not overlap.
#pragma once

#include "explore/Operators.h"

#include <filesystem>

namespace headrace::explore {

struct SizedOperator {
  enum class Kind { Convolution, Linear, Elementwise, MaxPool, View, Softmax };
  std::string name, place;
  Kind kind;
  std::vector<int64_t> input, output; ///< shapes
  std::vector<int64_t> filters;       ///< number, height, width
};

struct SizedProgram {
  std::string name;
  std::vector<int64_t> input;
  std::vector<SizedOperator> operators;
};

/// Throw Error that names the file, or `source` in its place, and the operator.
SizedProgram parseSizedProgram(std::string_view text, const std::string &source);

/// Whether the JSON text is a chain of operators rather than a task graph.
bool isSizedProgram(std::string_view text);

/// The forms an operator can take; none where there is only one way to compute it.
std::vector<Form> formsOf(const SizedOperator &sized);

/// The graph of operators from `begin` to before `end`; `forms` has one for each operator of the
/// program, which counts only for those that have a choice.
TaskGraph taskGraphOf(const SizedProgram &program, const std::vector<Form> &forms,
                      Convention convention, size_t begin, size_t end);

} // namespace headrace::explore
