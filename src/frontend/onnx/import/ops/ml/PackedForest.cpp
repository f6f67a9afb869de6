#include "frontend/onnx/import/ops/ml/PackedForest.h"

#include <bit>
#include <limits>
#include <map>

namespace headrace::onnx {

static constexpr int64_t kMaxPlaces = int64_t(1) << 28;

namespace {

/// Gives places from the root of each tree down, first to what is at most the threshold, so that a
/// path stays close together.
class ForestPacker {
public:
  ForestPacker(NodeContext &c, const Forest &forest, bool isDouble)
      : c(c), forest(forest), isDouble(isDouble), placeIn(forest.nodes, {-1, 0}) {
    result.featureBits = std::bit_width(static_cast<uint64_t>(forest.largestFeature));
  }

  std::optional<PackedForest> pack() {
    std::map<int32_t, size_t> trees; // by root: equal trees are walked at the same places
    for (int32_t root : forest.roots) {
      auto [known, isNew] = trees.emplace(root, result.roots.size());
      if (isNew)
        packTree(root);
      result.roots.push_back(isNew ? static_cast<int32_t>(base) : result.roots[known->second]);
      result.depths.push_back(isNew ? depth : result.depths[known->second]);
      result.depth = std::max(result.depth, result.depths.back());
    }
    if (!fits())
      return std::nullopt;
    for (const Place &place : places)
      write(place);
    return std::move(result);
  }

private:
  /// The node at a place; a leaf leads to itself, a jump to a node that has another place.
  struct Place {
    double threshold = std::numeric_limits<double>::quiet_NaN();
    int64_t feature = 0, next = 0;
    bool isFirstForNaN = false;
  };
  /// A node without its place yet. If three ways differ, `isNumber` says that the first of two
  /// nodes has sent what is not a number away.
  struct Open {
    int32_t id;
    int64_t place, level;
    bool isNumber;
  };

  void packTree(int32_t root) {
    base = static_cast<int64_t>(places.size());
    depth = 0;
    bool jumps = false;
    newPlace(); // the one before a leaf may be none
    newPlace();
    open.push_back({root, 1, 0, false});
    while (!open.empty()) {
      Open next = open.back();
      open.pop_back();
      jumps |= placed(next);
    }
    // Levels are counted where nodes are met first.
    constexpr int64_t kStepsOfNode = 3; // a jump to it, a test for NaN, itself
    if (jumps)
      depth = static_cast<int32_t>(kStepsOfNode * forest.depth);
  }

  int64_t newPlace() {
    if (static_cast<int64_t>(places.size()) >= kMaxPlaces)
      c.fail(ErrorKind::Unsupported,
             "expected trees with at most 2^28 nodes between them, got more");
    places.emplace_back();
    result.leaves.push_back(0);
    return static_cast<int64_t>(places.size()) - 1 - base;
  }

  /// Whether it became a jump.
  bool placed(const Open &it) {
    auto tree = static_cast<int32_t>(result.roots.size());
    depth = std::max(depth, static_cast<int32_t>(it.level));
    if (it.id >= forest.nodes) {
      result.leaves[base + it.place] = static_cast<int32_t>(it.id - forest.nodes);
      places[base + it.place].next = it.place - 1;
      return false;
    }
    auto &[lastTree, place] = placeIn[it.id];
    if (lastTree == tree && !it.isNumber) {
      places[base + it.place].next = place - 1;
      return true;
    }
    if (!it.isNumber)
      placeIn[it.id] = {tree, it.place};

    Place here;
    const int32_t *ways = &forest.next[it.id * Forest::kWays];
    here.feature = forest.features[it.id];
    here.threshold = forest.thresholds[it.id];
    here.isFirstForNaN = !it.isNumber && ways[2] == ways[0];
    bool splits = !it.isNumber && ways[2] != ways[0] && ways[2] != ways[1];
    if (splits)
      here.threshold = std::numeric_limits<double>::infinity();
    int64_t first = newPlace(), second = newPlace();
    open.push_back({splits ? ways[2] : ways[1], second, it.level + 1, false});
    open.push_back({splits ? it.id : ways[0], first, it.level + 1, splits});
    here.next = first;
    places[base + it.place] = here;
    return false;
  }

  int placeShift() const { return result.featureBits + (forest.treatsNaN ? 1 : 0); }

  bool fits() const {
    int64_t last = 0;
    for (const Place &place : places)
      last = std::max(last, place.next + 1);
    return isDouble || std::bit_width(static_cast<uint64_t>(last)) + placeShift() <=
                           64 - PackedForest::kThresholdBits;
  }

  void write(const Place &place) {
    auto way = static_cast<uint64_t>(place.next) << placeShift() |
               static_cast<uint64_t>(place.isFirstForNaN && forest.treatsNaN)
                   << result.featureBits |
               static_cast<uint64_t>(place.feature);
    if (isDouble) {
      result.nodes.push_back(std::bit_cast<int64_t>(place.threshold));
      result.nodes.push_back(static_cast<int64_t>(way));
    } else {
      auto threshold = std::bit_cast<uint32_t>(static_cast<float>(place.threshold));
      result.nodes.push_back(static_cast<int64_t>(way << PackedForest::kThresholdBits | threshold));
    }
  }

  NodeContext &c;
  const Forest &forest;
  const bool isDouble;
  PackedForest result;
  std::vector<Place> places;
  std::vector<Open> open;
  std::vector<std::pair<int32_t, int64_t>> placeIn; // of nodes: the last tree that has it, if
  int64_t base = 0;
  int32_t depth = 0;
};

} // namespace

std::optional<PackedForest> packed(NodeContext &c, const Forest &forest, bool isDouble) {
  return ForestPacker(c, forest, isDouble).pack();
}

} // namespace headrace::onnx
