#include "explore/graph/Graphs.h"
#include "explore/graph/Measures.h"

namespace headrace::explore::test {
namespace {

const Volumes even{32, 32};

TEST(TaskGraphTest, KindsFollowFromVolumes) {
  TaskGraph graph =
      graphOf({{"a", {8, 8}}, {"b", {8, 2}}, {"c", {2, 6}}}, {{"a", "b"}, {"b", "c"}});
  EXPECT_EQ(graph.tasks()[0].kindName(), "source");
  EXPECT_EQ(graph.tasks()[1].kindName(), "element-wise");
  EXPECT_EQ(graph.tasks()[2].kindName(), "downsampler");
  EXPECT_EQ(graph.tasks()[3].kindName(), "upsampler");
  EXPECT_EQ(graph.tasks()[2].rate(), Fraction::ratio(1, 4));
  EXPECT_EQ(graph.tasks()[3].work(), 6);
}

TEST(TaskGraphTest, WorkAndDepthOfADiamond) {
  TaskGraph graph = graphOf({{"a", {8, 8}}, {"b", {8, 4}}, {"c", {8, 4}}, {"d", {4, 16}}},
                            {{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}});
  EXPECT_EQ(totalWork(graph), 8 + 8 + 8 + 16);
  EXPECT_EQ(totalVolume(graph), 8 + 8 + 8 + 4 + 4 + 16);
  EXPECT_EQ(criticalPath(graph), 8 + 8 + 16);
  EXPECT_EQ(streamingCriticalPath(graph), 1 + 1 + 16);
  EXPECT_EQ(streamingDepth(graph), 16 + 1 + 1 + 4);
}

TEST(TaskGraphTest, ABufferEndsStreaming) {
  TaskGraph graph = graphOf({{"a", {8, 8}}, {"b", {8, 8, TaskKind::Buffer}}, {"c", {8, 8}}},
                            {{"a", "b"}, {"b", "c"}});
  EXPECT_EQ(totalWork(graph), 16);
  EXPECT_EQ(streamingCriticalPath(graph), 16);
  EXPECT_EQ(graph.tasks()[2].kindName(), "buffer");
}

TEST(TaskGraphTest, AnEdgeBetweenDifferentVolumesIsRefusedByName) {
  EXPECT_EQ(errorOf([] { graphOf({{"a", {8, 8}}, {"b", {4, 4}}}, {{"a", "b"}}); }),
            "edge from 'a' to 'b': expected 4 elements, the input of 'b', got 8 elements, the "
            "output of 'a'");
}

TEST(TaskGraphTest, CirclesAreRefusedByName) {
  EXPECT_EQ(errorOf([] {
              graphOf({{"a", even}, {"b", even}, {"c", even}, {"d", even}},
                      {{"a", "b"}, {"b", "c"}, {"c", "b"}, {"c", "d"}});
            }),
            "task 'b': it waits for its own result, expected an acyclic graph");
}

TEST(TaskGraphTest, EdgesThatAreThereTwiceAreRefused) {
  EXPECT_EQ(errorOf([] { graphOf({{"a", even}, {"b", even}}, {{"a", "b"}, {"a", "b"}}); }),
            "edge from 'a' to 'b': it exists twice");
}

TEST(TaskGraphTest, VolumesHaveLimits) {
  EXPECT_EQ(errorOf([] { graphOf({{"a", {0, 8}}}, {}); }),
            "task 'a': expected an input of 1 to 1099511627776 elements, got 0");
  EXPECT_EQ(errorOf([] { graphOf({{"a", {8, -1}}}, {}); }),
            "task 'a': expected an output of 1 to 1099511627776 elements, got -1");
  EXPECT_EQ(errorOf([] { graphOf({{"a", {8, TaskGraph::maxVolume + 1}}}, {}); }),
            "task 'a': expected an output of 1 to 1099511627776 elements, got 1099511627777");
  EXPECT_NO_THROW(graphOf({{"a", {1, TaskGraph::maxVolume}}}, {}));
}

TEST(TaskGraphTest, SourceAndSinkAreNeeded) {
  TaskGraph graph;
  EXPECT_EQ(errorOf([&] { graph.validate(); }), "expected one source, got 0");
  graph.add({"in", TaskKind::Source, 0, 0, {}, ""});
  EXPECT_EQ(errorOf([&] { graph.validate(); }), "expected one sink, got 0");
  int sink = graph.add({"out", TaskKind::Sink, 0, 0, {}, ""});
  EXPECT_EQ(errorOf([&] { graph.validate(); }), "task 'in': expected a successor, got none");
  graph.connect(0, sink);
  EXPECT_EQ(errorOf([&] { graph.validate(); }),
            "edge from 'in' to 'out': expected a task between source and sink, got none");
}

TEST(TaskGraphTest, NamesAreTheirOwn) {
  EXPECT_EQ(errorOf([] { graphOf({{"a", even}, {"a", even}}, {}); }),
            "task 'a': there are two of that name");
  EXPECT_EQ(errorOf([] { graphOf({{"", even}}, {}); }),
            "expected a name for every task, got one without (element-wise)");
}

} // namespace
} // namespace headrace::explore::test
