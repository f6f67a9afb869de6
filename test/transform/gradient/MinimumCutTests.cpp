#include "transform/common/MinimumCut.h"

#include <gtest/gtest.h>
#include <random>
#include <tuple>

using namespace headrace;

namespace {

using Edges = std::vector<std::tuple<int, int, int64_t>>;

int64_t costOf(const Edges &edges, const std::vector<bool> &side) {
  int64_t cost = 0;
  for (auto [from, to, capacity] : edges)
    if (side[from] && !side[to])
      cost += capacity;
  return cost;
}

/// Against all ways to split a few nodes: least cost, and no least cut leaves the source fewer.
TEST(MinimumCut, AgreesWithEnumeration) {
  std::mt19937 random(7);
  constexpr int kNodes = 7, kSource = 0, kSink = 1;
  for (int trial = 0; trial < 200; ++trial) {
    Edges edges;
    MinimumCut cut;
    for (int i = 0; i < kNodes; ++i)
      cut.addNode();
    for (int i = 0; i < 16; ++i) {
      edges.emplace_back(random() % kNodes, random() % kNodes, random() % 5);
      auto [from, to, capacity] = edges.back();
      cut.addEdge(from, to, capacity);
    }
    int64_t least = INT64_MAX;
    int fewest = kNodes;
    for (int bits = 0; bits < 1 << kNodes; ++bits) {
      std::vector<bool> side;
      for (int i = 0; i < kNodes; ++i)
        side.push_back(bits >> i & 1);
      if (!side[kSource] || side[kSink])
        continue;
      int64_t cost = costOf(edges, side);
      int count = __builtin_popcount(bits);
      if (cost < least || (cost == least && count < fewest)) {
        least = cost;
        fewest = count;
      }
    }
    std::vector<bool> side = cut.sourceSide(kSource, kSink);
    ASSERT_TRUE(side[kSource]);
    ASSERT_FALSE(side[kSink]);
    ASSERT_EQ(costOf(edges, side), least);
    ASSERT_EQ(std::count(side.begin(), side.end(), true), fewest);
  }
}

TEST(MinimumCut, KeepsEdgesThatMustNotBeCut) {
  MinimumCut cut;
  int source = cut.addNode(), sink = cut.addNode(), middle = cut.addNode();
  cut.addEdge(source, middle, int64_t(1) << 41);
  cut.addEdge(middle, sink, MinimumCut::kUncut);
  EXPECT_FALSE(cut.sourceSide(source, sink)[middle]);
}

} // namespace
