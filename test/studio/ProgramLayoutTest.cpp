#include "studio/layout/ProgramLayout.h"

#include "studio/Graphs.h"
#include <cmath>
#include <gtest/gtest.h>
#include <set>

using namespace headrace::studio;
using namespace headrace::studio::test;

namespace {

/// Pairs of neighbours become one node, as fusion does.
Graph fused(const Graph &graph) {
  Graph result;
  std::vector<int> number(graph.nodes.size(), -1);
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    bool joins = n % 2 == 0 && n > 1 && graph.nodes[n - 1].kind != "input" &&
                 graph.nodes[n].kind != "output";
    if (joins) {
      number[n] = number[n - 1];
      result.nodes[static_cast<size_t>(number[n])].operators.push_back(graph.nodes[n].id);
      continue;
    }
    number[n] = static_cast<int>(result.nodes.size());
    result.nodes.push_back(graph.nodes[n]);
  }
  for (const Edge &edge : graph.edges)
    if (number[edge.from] != number[edge.to])
      result.edges.push_back({number[edge.from], number[edge.to], edge.bytes, edge.shape});
  return result;
}

} // namespace

TEST(ProgramLayout, EveryNodeHasOnePlaceAndEveryEdgeOneLine) {
  for (const Graph &graph : {blocksOf(12, 14), randomGraph(300, 5)}) {
    Groups groups(graph);
    ProgramLayout layout = layOutProgram(graph, groups);
    std::multiset<int> nodes, edges;
    for (const Frame &frame : layout.frames) {
      EXPECT_GE(frame.layout.places.size(), frame.items.size());
      for (const Frame::Item &item : frame.items)
        if (item.node >= 0)
          nodes.insert(item.node);
      for (const Frame::Link &link : frame.links)
        edges.insert(link.edges.begin(), link.edges.end());
    }
    EXPECT_EQ(nodes.size(), graph.nodes.size());
    EXPECT_EQ(std::set<int>(nodes.begin(), nodes.end()).size(), graph.nodes.size());
    EXPECT_EQ(edges.size(), graph.edges.size());
    EXPECT_EQ(std::set<int>(edges.begin(), edges.end()).size(), graph.edges.size());
    EXPECT_EQ(layout.frames[0].nodes, static_cast<int>(graph.nodes.size()));
  }
}

TEST(ProgramLayout, StagesStandInTheirKernel) {
  Graph graph;
  int x = addNode(graph, "x", "input", {});
  int kernel = addNode(graph, "conv1", "kernel", {x});
  int conv = addNode(graph, "conv1/conv", "linalg.generic", {x});
  int map = addNode(graph, "conv1/map", "linalg.generic", {conv});
  graph.nodes[conv].inside = graph.nodes[map].inside = kernel;
  addNode(graph, "y", "output", {kernel});
  Groups groups(graph);
  ProgramLayout layout = layOutProgram(graph, groups);
  ASSERT_EQ(layout.frames.size(), 2u);
  EXPECT_EQ(layout.frames[1].kernel, kernel);
  EXPECT_EQ(layout.frames[1].items.size(), 2u);
  EXPECT_EQ(layout.frames[1].links.size(), 1u);
  EXPECT_EQ(layout.frames[1].enters.size(), 1u);
  EXPECT_EQ(layout.frames[0].items.size(), 3u);
}

TEST(ProgramLayout, ConstantsAreNotDrawn) {
  Graph graph;
  int x = addNode(graph, "x", "input", {});
  int weights = addNode(graph, "weights", "constant", {});
  graph.nodes[weights].isConstant = true;
  addNode(graph, "matmul", "contract", {x, weights});
  ProgramLayout layout = layOutProgram(graph, Groups(graph));
  EXPECT_EQ(layout.frames[0].items.size(), 2u);
  EXPECT_EQ(layout.frames[0].links.size(), 1u);
}

/// The median operator moves by less than a tenth of the program's extent when neighbours fuse.
TEST(ProgramLayout, OperatorsStayWhereTheyWere) {
  for (const Graph &graph : {blocksOf(12, 14), blocksOf(3, 200), randomGraph(400, 1)}) {
    Groups groups(graph);
    ProgramLayout before = layOutProgram(graph, groups);
    Places places = placesOf(before, graph);
    Graph later = fused(graph);
    Places after = placesOf(layOutProgram(later, groups, places), later);
    double rows = 1, width = 1;
    for (const auto &[name, place] : places) {
      rows = std::max(rows, place.row + 1.0);
      width = std::max(width, 2 * std::abs(place.x));
    }
    std::vector<double> moves;
    for (const auto &[name, place] : places)
      if (auto found = after.find(name); found != after.end())
        moves.push_back(std::max(std::abs(found->second.row - place.row) / rows,
                                 std::abs(found->second.x - place.x) / width));
    ASSERT_GT(moves.size(), places.size() * 9 / 10) << "operators are found again";
    std::ranges::nth_element(moves, moves.begin() + static_cast<long>(moves.size() / 2));
    EXPECT_LT(moves[moves.size() / 2], 0.1);
  }
}

TEST(ProgramLayout, TenThousandNodes) {
  for (const Graph &graph : {blocksOf(200, 50), randomGraph(10000, 2)}) {
    ProgramLayout layout = layOutProgram(graph, Groups(graph));
    size_t places = 0;
    for (const Frame &frame : layout.frames)
      places += frame.layout.places.size();
    EXPECT_LT(places, graph.nodes.size() * 8) << "long edges do not fill the rows";
  }
}
