#include "runtime/library/Forest.h"

#include "runtime/Helpers.h"
#include "runtime/program/Library.h"

#include <cmath>
#include <limits>
#include <random>

namespace headrace {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

/// Random trees, most nodes of which have a leaf on one side, as tables and as plain nodes.
struct RandomForest {
  struct Plain {
    float threshold;
    uint32_t feature, first; // the other successor follows
    bool isFirstForNaN;
    int leaf; // -1: none
  };
  static constexpr int featureBits = 2, features = 3;

  std::vector<int32_t> roots, depths, leaves;
  std::vector<ForestNode<float>> nodes;
  std::vector<float> weights;
  std::vector<Plain> plain;
  bool treatsNaN;
  int64_t targets;

  RandomForest(int trees, int deepest, bool treatsNaN, int64_t targets)
      : treatsNaN(treatsNaN), targets(targets) {
    for (int tree = 0; tree < trees; ++tree) {
      roots.push_back(static_cast<int32_t>(plain.size()));
      depths.push_back(0);
      plain.resize(plain.size() + 2);
      grow(1, 0, static_cast<int>(random() % static_cast<unsigned>(deepest + 1)));
    }
    for (size_t i = 0; i < plain.size(); ++i) {
      const Plain &node = plain[i];
      uint32_t way = node.first << (featureBits + treatsNaN) | node.feature;
      if (treatsNaN && node.isFirstForNaN)
        way |= 1u << featureBits;
      nodes.push_back({node.threshold, way});
      leaves.push_back(std::max(node.leaf, 0));
    }
  }

  ForestSizes sizes(int64_t rows, int64_t combine) const {
    return {rows,
            features,
            static_cast<int64_t>(roots.size()),
            static_cast<int64_t>(nodes.size()),
            static_cast<int64_t>(weights.size()) / targets,
            targets,
            featureBits,
            treatsNaN,
            combine};
  }
  ForestTables<float> tables() const {
    return {roots.data(), depths.data(), nodes.data(), leaves.data(), weights.data()};
  }

  int leafOf(const float *row, size_t tree) const {
    const Plain *at = &plain[roots[tree] + 1];
    while (at->leaf < 0) {
      float value = row[at->feature];
      bool isFirst = std::isnan(value) ? at->isFirstForNaN : value <= at->threshold;
      at = &plain[roots[tree] + at->first + (isFirst ? 0 : 1)];
    }
    return at->leaf;
  }

private:
  void grow(uint32_t place, int depth, int most) {
    auto base = static_cast<size_t>(roots.back());
    depths.back() = std::max(depths.back(), depth);
    if (depth >= most) {
      plain[base + place] = {kNaN, 0, place - 1, false, static_cast<int>(weights.size() / targets)};
      for (int64_t i = 0; i < targets; ++i)
        weights.push_back(static_cast<float>(random() % 64) - 32);
      return;
    }
    auto first = static_cast<uint32_t>(plain.size() - base);
    plain.resize(plain.size() + 2);
    float threshold = static_cast<float>(random() % 21) / 10 - 1;
    plain[base + place] = {threshold, static_cast<uint32_t>(random() % features), first,
                           treatsNaN && random() % 2 == 0, -1};
    bool isLeft = random() % 2 == 0;
    grow(first, depth + 1, isLeft || random() % 4 == 0 ? most : 0);
    grow(first + 1, depth + 1, isLeft ? 0 : most);
  }

  std::mt19937 random{7};
};

std::vector<float> randomRows(int64_t count) {
  std::mt19937 random(3);
  std::vector<float> rows(static_cast<size_t>(count * RandomForest::features));
  for (float &value : rows)
    value = random() % 9 == 0 ? kNaN : static_cast<float>(random() % 21) / 10 - 1;
  return rows;
}

std::vector<float> walked(const RandomForest &forest, const std::vector<float> &rows, int64_t count,
                          int64_t combine, int threads) {
  ThreadPool pool(threads);
  std::vector<float> result(static_cast<size_t>(count * forest.targets), kNaN);
  walkForest(forest.sizes(count, combine), forest.tables(), rows.data(), result.data(), pool);
  return result;
}

TEST(Forest, WalksOfAnyNumberAndDepthEndAtTheirLeaves) {
  for (bool treatsNaN : {false, true})
    for (auto [trees, deepest] : {std::pair{1, 0}, {1, 5}, {7, 1}, {19, 3}, {40, 60}}) {
      RandomForest forest(trees, deepest, treatsNaN, 2);
      for (int64_t count : {0, 1, 2, 7, 15, 16, 17, 33, 100}) {
        std::vector<float> rows = randomRows(count), expected;
        for (int64_t row = 0; row < count; ++row)
          for (int64_t target = 0; target < forest.targets; ++target) {
            float sum = 0;
            for (size_t tree = 0; tree < forest.roots.size(); ++tree)
              sum += forest.weights[forest.leafOf(&rows[row * 3], tree) * forest.targets + target];
            expected.push_back(sum);
          }
        EXPECT_EQ(walked(forest, rows, count, ForestSizes::Sum, 1), expected)
            << trees << " trees, " << deepest << " deep, " << count << " rows";
      }
    }
}

TEST(Forest, LeavesAreCombinedToTheLeastOrLargest) {
  RandomForest forest(11, 6, true, 1);
  std::vector<float> rows = randomRows(21);
  std::vector<float> least = walked(forest, rows, 21, ForestSizes::Min, 1),
                     largest = walked(forest, rows, 21, ForestSizes::Max, 1);
  for (int64_t row = 0; row < 21; ++row) {
    float low = 1000, high = -1000;
    for (size_t tree = 0; tree < forest.roots.size(); ++tree) {
      float weight = forest.weights[forest.leafOf(&rows[row * 3], tree)];
      low = std::min(low, weight);
      high = std::max(high, weight);
    }
    EXPECT_EQ(least[row], low);
    EXPECT_EQ(largest[row], high);
  }
}

TEST(Forest, DoesNotDependOnTheNumberOfThreads) {
  RandomForest forest(200, 12, true, 3);
  std::vector<float> rows = randomRows(301);
  EXPECT_EQ(walked(forest, rows, 301, ForestSizes::Sum, 3),
            walked(forest, rows, 301, ForestSizes::Sum, 1));
}

TEST(Forest, StepsThatWouldLeaveTheirBuffersAreFaults) {
  std::vector<int64_t> sizes{10, 3, 2, 12, 4, 1, 2, 0, 0}, bytes{120, 8, 8, 96, 48, 16, 40};
  EXPECT_EQ(forestStepFault<float>(sizes, bytes), "");
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::vector<int64_t> less = bytes;
    --less[i];
    EXPECT_NE(forestStepFault<float>(sizes, less), "") << i;
  }
  EXPECT_NE(forestStepFault<double>(sizes, bytes), "");
  for (auto [i, value] :
       {std::pair<size_t, int64_t>{0, -1}, {0, int64_t{1} << 62}, {6, 40}, {6, -1}}) {
    std::vector<int64_t> wrong = sizes;
    wrong[i] = value;
    EXPECT_NE(forestStepFault<float>(wrong, bytes), "") << i;
  }
}

} // namespace
} // namespace headrace
