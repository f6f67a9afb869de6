// A forest whose nodes are single words: a step of a walk then reads one word and one feature.
#pragma once

#include "frontend/onnx/import/ops/ml/Forest.h"

namespace headrace::onnx {

/// The two successors of a node stand next to each other. From the low bits, a word holds the
/// threshold (single precision), the feature, and the place of the successor for what is at most
/// the threshold; the other one follows it. A leaf's threshold is NaN, which nothing is at most,
/// and the place before it is its own: every step from a leaf stays there.
struct PackedForest {
  static constexpr int kThresholdBits = 32;

  int featureBits = 0;
  std::vector<int32_t> roots;
  std::vector<int64_t> words;
  std::vector<int32_t> leaves; // by place, numbered as in the forest; 0 where there is none
};

/// None where a word is too small, a node has two predecessors, or NaN has ways of its own.
std::optional<PackedForest> packed(const Forest &forest);

} // namespace headrace::onnx
