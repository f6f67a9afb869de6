#include "frontend/onnx/import/ops/ml/PackedForest.h"

#include <bit>
#include <limits>

namespace headrace::onnx {

static int64_t wordOf(const PackedForest &forest, float threshold, int64_t feature, int64_t next) {
  uint64_t high =
      static_cast<uint64_t>(next) << forest.featureBits | static_cast<uint64_t>(feature);
  return static_cast<int64_t>(high << PackedForest::kThresholdBits |
                              std::bit_cast<uint32_t>(threshold));
}

/// Places are given from the root down, first to what is at most the threshold, so that a path
/// stays close together.
std::optional<PackedForest> packed(const Forest &forest) {
  if (forest.treatsNaN)
    return std::nullopt;
  PackedForest result;
  result.featureBits = std::bit_width(static_cast<uint64_t>(forest.largestFeature));
  // A forest of trees has no more places than nodes and leaves, and the one that nothing uses.
  auto most = static_cast<uint64_t>(forest.nodes + forest.leaves + 1);
  if (std::bit_width(most) + result.featureBits > 64 - PackedForest::kThresholdBits)
    return std::nullopt;

  std::vector<bool> isPlaced(forest.features.size(), false);
  std::vector<std::pair<int32_t, size_t>> open; // a node or leaf, and its place
  bool isTree = true;
  auto newPlace = [&](int32_t id) {
    isTree &= !isPlaced[id];
    isPlaced[id] = true;
    open.emplace_back(id, result.words.size());
    result.words.push_back(0);
    result.leaves.push_back(0);
  };
  result.words.push_back(0); // a leaf refers to the place before its own
  result.leaves.push_back(0);
  for (int32_t root : forest.roots) {
    result.roots.push_back(static_cast<int32_t>(result.words.size()));
    newPlace(root);
    while (!open.empty() && isTree) {
      auto [id, place] = open.back();
      open.pop_back();
      if (id >= forest.nodes) {
        result.leaves[place] = id;
        result.words[place] = wordOf(result, std::numeric_limits<float>::quiet_NaN(), 0,
                                     static_cast<int64_t>(place) - 1);
        continue;
      }
      auto next = static_cast<int64_t>(result.words.size());
      newPlace(forest.next[id * Forest::kWays]);
      newPlace(forest.next[id * Forest::kWays + 1]);
      std::swap(open[open.size() - 1], open[open.size() - 2]);
      result.words[place] =
          wordOf(result, static_cast<float>(forest.thresholds[id]), forest.features[id], next);
    }
    if (!isTree)
      return std::nullopt;
  }
  return result;
}

} // namespace headrace::onnx
