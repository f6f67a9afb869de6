#include "studio/graph/Groups.h"

#include "studio/Graphs.h"
#include <gtest/gtest.h>

using namespace headrace::studio;
using namespace headrace::studio::test;

namespace {

const Group *findBlocks(const Groups &groups) {
  for (const Group &group : groups.all())
    if (group.blocks > 0)
      return &group;
  return nullptr;
}

} // namespace

TEST(Groups, PathsOfNamesAreGroups) {
  Graph graph;
  int a = addNode(graph, "/layer/conv/pad", "pad", {});
  int b = addNode(graph, "/layer/conv/conv", "conv", {a});
  int c = addNode(graph, "/layer/relu", "map", {b});
  addNode(graph, "/head/matmul", "contract", {c});
  Groups groups(graph);
  std::vector<int> of = groups.of(graph);
  EXPECT_EQ(of[0], of[1]);
  EXPECT_NE(of[1], of[2]);
  EXPECT_EQ(groups.all()[of[0]].parent, of[2]);
  EXPECT_EQ(groups.all()[of[2]].name, "layer");
  EXPECT_EQ(of[3], 0) << "a single node makes no group";
}

TEST(Groups, EqualBlocksWithoutPathsAreOneGroup) {
  Groups groups(blocksOf(200, 50));
  const Group *found = findBlocks(groups);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->blocks, 200);
}

TEST(Groups, EqualLayersOfAModelAreOneGroup) {
  Graph graph;
  int last = addNode(graph, "x", "input", {});
  for (int layer = 0; layer < 12; ++layer)
    for (const char *kind : {"contract", "map", "softmax"})
      last = addNode(graph, "/encoder/layers." + std::to_string(layer) + "/" + kind, kind, {last});
  addNode(graph, "/head", "contract", {last});
  Groups groups(graph);
  const Group *found = findBlocks(groups);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->blocks, 12);
  EXPECT_EQ(found->name.substr(0, 6), "encode");
}

TEST(Groups, AFewEqualNodesInARowAreNoBlocks) {
  Graph graph;
  int last = addNode(graph, "x", "input", {});
  for (int n = 0; n < 7; ++n)
    last = addNode(graph, "n" + std::to_string(n), "map", {last});
  EXPECT_EQ(findBlocks(Groups(graph)), nullptr);
}

TEST(Groups, DifferentNodesAreNoBlocks) {
  Graph graph;
  int last = addNode(graph, "x", "input", {});
  for (int n = 0; n < 40; ++n)
    last = addNode(graph, "n" + std::to_string(n), "kind" + std::to_string(n * n % 41), {last});
  EXPECT_EQ(findBlocks(Groups(graph)), nullptr);
}

TEST(Groups, LaterPhasesHaveTheGroupsOfTheirOperators) {
  Graph first;
  int a = addNode(first, "/a/conv", "conv", {});
  int b = addNode(first, "/a/relu", "map", {a});
  int c = addNode(first, "/b/conv", "conv", {b});
  addNode(first, "/b/relu", "map", {c});
  Groups groups(first);
  std::vector<int> before = groups.of(first);
  Graph later;
  addNode(later, "/a/conv/conv", "kernel", {});
  later.nodes[0].operators = {"/a/conv", "/a/relu", "/b/conv"};
  addNode(later, "/b/relu", "kernel", {0});
  addNode(later, "made", "kernel", {1});
  later.nodes[2].operators.clear();
  std::vector<int> after = groups.of(later);
  EXPECT_EQ(after[0], before[0]);
  EXPECT_EQ(after[1], before[3]);
  EXPECT_EQ(after[2], after[1]) << "what has no operator stands with what is before it";
}
