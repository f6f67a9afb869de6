#include "studio/layout/Layered.h"

#include <gtest/gtest.h>
#include <random>

using namespace headrace::studio;

namespace {

void expectSound(const std::vector<LayeredItem> &items, const std::vector<LayeredEdge> &edges,
                 const LayeredResult &result) {
  ASSERT_GE(result.places.size(), items.size());
  for (size_t e = 0; e < edges.size(); ++e) {
    auto [from, to] = std::minmax(edges[e].from, edges[e].to);
    if (from == to)
      continue;
    EXPECT_LT(result.places[from].row, result.places[to].row) << "edges lead downwards";
    int row = result.places[from].row;
    for (int place : result.routes[e])
      EXPECT_EQ(result.places[place].row, ++row) << "a route passes every row between";
  }
  auto widthOf = [&](int place) {
    int item = result.places[place].item;
    return item < 0 ? kPassWidth : items[item].width;
  };
  for (const std::vector<int> &row : result.rows)
    for (size_t i = 1; i < row.size(); ++i) {
      double apart = result.places[row[i]].x - result.places[row[i - 1]].x;
      EXPECT_GE(apart + 1e-6, (widthOf(row[i]) + widthOf(row[i - 1])) / 2 + kGap)
          << "neighbours do not overlap";
    }
}

std::vector<LayeredEdge> randomEdges(int items, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<LayeredEdge> edges;
  for (int i = 1; i < items; ++i)
    for (unsigned n = random() % 3; n-- > 0;)
      edges.push_back({static_cast<int>(random() % static_cast<unsigned>(i)), i});
  return edges;
}

} // namespace

TEST(Layered, ChainsAreStraight) {
  std::vector<LayeredItem> items(5);
  std::vector<LayeredEdge> edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
  LayeredResult result = layOut(items, edges);
  expectSound(items, edges, result);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(result.places[i].row, i);
    EXPECT_NEAR(result.places[i].x, result.places[0].x, 1e-6);
  }
}

TEST(Layered, BranchesStandBesideEachOther) {
  std::vector<LayeredItem> items(4);
  std::vector<LayeredEdge> edges = {{0, 1}, {0, 2}, {1, 3}, {2, 3}};
  LayeredResult result = layOut(items, edges);
  expectSound(items, edges, result);
  EXPECT_EQ(result.places[1].row, result.places[2].row);
  EXPECT_NE(result.places[1].x, result.places[2].x);
}

TEST(Layered, WhatHasNoOperandsStandsAboveItsUser) {
  std::vector<LayeredItem> items(4);
  LayeredResult result = layOut(items, {{0, 2}, {2, 3}, {1, 3}});
  EXPECT_EQ(result.places[1].row, 1);
}

TEST(Layered, RandomGraphsAreSound) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    int count = 1 + static_cast<int>(seed) * 3;
    std::vector<LayeredItem> items(static_cast<size_t>(count));
    for (int i = 0; i < count; ++i)
      items[i].width = 40 + (i * 37) % 120;
    std::vector<LayeredEdge> edges = randomEdges(count, seed);
    expectSound(items, edges, layOut(items, edges));
  }
}

TEST(Layered, EdgesAgainstTheOrderAndLoopsAreTaken) {
  std::vector<LayeredItem> items(3);
  std::vector<LayeredEdge> edges = {{2, 0}, {1, 1}, {0, 1}};
  expectSound(items, edges, layOut(items, edges));
}

TEST(Layered, EqualInputsGiveEqualLayouts) {
  std::vector<LayeredItem> items(200);
  std::vector<LayeredEdge> edges = randomEdges(200, 7);
  LayeredResult a = layOut(items, edges), b = layOut(items, edges);
  for (size_t p = 0; p < a.places.size(); ++p)
    EXPECT_EQ(a.places[p].x, b.places[p].x);
}

TEST(Layered, HintsKeepRowsAndPlaces) {
  std::vector<LayeredItem> items(60);
  std::vector<LayeredEdge> edges = randomEdges(60, 3);
  LayeredResult before = layOut(items, edges);
  // Every third item is gone, and what read it reads what it read.
  std::vector<LayeredItem> fewer;
  std::vector<int> number(60, -1);
  for (int i = 0; i < 60; ++i)
    if (i % 3 != 1) {
      number[i] = static_cast<int>(fewer.size());
      LayeredItem item;
      item.hint = PlaceHint{before.places[i].row, before.places[i].x};
      fewer.push_back(item);
    }
  std::vector<LayeredEdge> left;
  for (const LayeredEdge &edge : edges)
    if (number[edge.from] >= 0 && number[edge.to] >= 0)
      left.push_back({number[edge.from], number[edge.to]});
  LayeredResult after = layOut(fewer, left);
  expectSound(fewer, left, after);
  for (int i = 0; i < 60; ++i)
    if (number[i] >= 0) {
      EXPECT_EQ(after.places[number[i]].row, before.places[i].row);
      EXPECT_NEAR(after.places[number[i]].x, before.places[i].x, 60);
    }
}

TEST(Layered, KeepApartMovesAsLittleAsPossible) {
  std::vector<double> centers = {0, 1, 100};
  keepApart(centers, {1, 1, 1}, {10, 10});
  EXPECT_NEAR(centers[0], -4.5, 1e-9);
  EXPECT_NEAR(centers[1], 5.5, 1e-9);
  EXPECT_NEAR(centers[2], 100, 1e-9);
  centers = {0, 0};
  keepApart(centers, {3, 1}, {8});
  EXPECT_NEAR(centers[0], -2, 1e-9);
  EXPECT_NEAR(centers[1], 6, 1e-9);
}
