// A forest in the form that walks read (runtime/library/Forest.h): the two successors of a node
// stand next to each other, so that one number leads to both.
#pragma once

#include "frontend/onnx/import/ops/ml/Forest.h"

namespace headrace::onnx {

struct PackedForest {
  static constexpr int kThresholdBits = 32;

  int featureBits = 0;
  int32_t depth = 0;                  // the largest of `depths`
  std::vector<int32_t> roots, depths; // of trees
  std::vector<int64_t> nodes;         // a word for each place, or two if thresholds are doubles
  std::vector<int32_t> leaves;        // by place, counted from 0; 0 if there is none
};

/// With thresholds in f32 or in f64. None if a single word is too small for
/// features and places; two never are. Throws Error if trees share so many nodes that the forest
/// is too large.
std::optional<PackedForest> packed(NodeContext &c, const Forest &forest, bool isDouble);

} // namespace headrace::onnx
