// A chain of operators given by their sizes alone, as JSON:
//   {"name": "net", "input": [1, 28, 28],
//    "operators": [{"name": "conv1", "op": "convolution", "filters": [6, 5, 5]},
//                  {"name": "relu1", "op": "element-wise"},
//                  {"name": "pool1", "op": "max-pool", "window": [2, 2]},
//                  {"name": "flat", "op": "view", "shape": [864]},
//                  {"name": "fc1", "op": "linear", "outputs": 10},
//                  {"name": "softmax1", "op": "softmax"}]}
// Convolutions have stride 1 and no padding; windows of pools do not overlap.
#pragma once

#include "explore/operators/OperatorGraph.h"

#include <string_view>

namespace headrace::explore {

/// Throws Error that names `source`, the file's name, and the operator.
OperatorGraph parseSizedProgram(std::string_view text, const std::string &source);

/// Whether the JSON text is a chain of operators rather than a task graph.
bool isSizedProgram(std::string_view text);

} // namespace headrace::explore
