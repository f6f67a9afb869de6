// Builds a forest: comparisons of every kind as nodes that ask whether a feature is at most a
// threshold, and the check that what comes out are trees.
#pragma once

#include "frontend/onnx/import/ops/ml/Forest.h"

namespace headrace::onnx {

enum class Comparison { AtMost, Less, AtLeast, Greater, Equal, NotEqual, Member };

/// A node or a leaf, each counted from 0.
struct TreePlace {
  bool isLeaf = false;
  int64_t number = 0;
};

struct Decision {
  Comparison comparison = Comparison::AtMost;
  int64_t feature = 0;
  double threshold = 0;
  std::vector<double> members; // of Member
  TreePlace yes, no;
  bool isMissingYes = false; // whether NaN goes to `yes` whatever the comparison says
};

/// The forest of these decisions, which are its nodes 0 to n-1 before what comparisons add. Places
/// must be inside; throws Error for cycles, and for trees that are too large or too deep.
Forest buildForest(NodeContext &c, const std::vector<Decision> &decisions, int64_t leaves,
                   const std::vector<TreePlace> &roots, mlir::Type type);

} // namespace headrace::onnx
