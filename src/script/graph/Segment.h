#pragma once

#include "script/graph/Dag.h"

namespace headrace::script {

/// Nodes of a graph that are compiled as one program.
struct Segment {
  std::vector<int> nodes; ///< in the order of the graph
  std::vector<int> inputs, outputs;
  /// Symbols that no input's sizes show: the program has an operand of `symbol` x 0 for each.
  std::vector<int> hiddenSymbols;
  /// Values of the graph's symbols when it was planned: about what they will be.
  std::vector<int64_t> expectedSizes;
};

/// Fills in the inputs and outputs of the segment; `wanted` tells which nodes are read outside.
void closeSegment(const Dag &dag, Segment &segment, const std::vector<bool> &wanted);

/// Where it is: "svm.dml:12".
std::string segmentName(const Dag &dag, const Segment &segment);

/// Its computation as text: equal for segments that the same program computes, wherever they stand
/// and whatever their variables are called.
std::string segmentKey(const Dag &dag, const Segment &segment);

} // namespace headrace::script
