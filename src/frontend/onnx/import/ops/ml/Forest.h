// Trees of decisions in one form, whichever operator and comparison they were written with: arrays
// of nodes, each of which asks whether a feature is at most a threshold.
#pragma once

#include "frontend/onnx/import/NodeContext.h"

namespace headrace::onnx {

/// Nodes are numbered from 0, leaves follow them. A leaf is its own successor, so that every tree
/// can be walked `depth` steps.
struct Forest {
  static constexpr int kWays = 3; // at most the threshold, above it, not a number

  int64_t depth = 0;
  int64_t nodes = 0, leaves = 0;
  int64_t largestFeature = 0;
  bool treatsNaN = false; // as something else than a number above all thresholds
  std::vector<int32_t> roots;
  std::vector<int32_t> features; // of nodes and leaves
  std::vector<double> thresholds;
  std::vector<int32_t> next; // kWays for each node and leaf
};

/// The weight that a leaf adds to a target.
struct LeafWeight {
  int64_t leaf, target;
  double weight;
};

struct WeightedForest {
  Forest forest;
  std::vector<LeafWeight> weights;
};

/// Reads the attributes of a TreeEnsembleRegressor or TreeEnsembleClassifier, whose weights differ
/// in their `prefix`. Throws Error if they do not make trees. Thresholds are of `type`.
WeightedForest readForest(NodeContext &c, const std::string &prefix, mlir::Type type);

/// Reads the attributes of a TreeEnsemble. Throws Error if they do not make trees.
WeightedForest readIndexedForest(NodeContext &c, mlir::Type type);

} // namespace headrace::onnx
