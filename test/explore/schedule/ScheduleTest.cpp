#include "explore/schedule/Schedule.h"

#include "explore/graph/Graphs.h"
#include "explore/schedule/Baseline.h"

namespace headrace::explore::test {
namespace {

const Volumes even{32, 32};

TEST(ScheduleTest, AShortcutPastAChainHoldsWhatTheChainDelays) {
  TaskGraph graph = graphOf({{"1", even}, {"2", even}, {"3", even}, {"4", even}, {"5", even}},
                            {{"1", "2"}, {"2", "3"}, {"3", "4"}, {"4", "5"}, {"1", "5"}});
  Schedule result = schedule(graph, {.processingElements = 8});
  EXPECT_EQ(result.edges[edgeBetween(graph, "1", "5")].capacity, 3);
  EXPECT_EQ(result.edges[edgeBetween(graph, "4", "5")].capacity, 1);
  EXPECT_EQ(result.makespan, 32 + 4);
  EXPECT_EQ(result.bound, 32 + 4);
}

TEST(ScheduleTest, TheLargestVolumeSetsThePace) {
  TaskGraph graph =
      graphOf({{"a", {8, 8}}, {"b", {8, 32}}, {"c", {32, 32}}}, {{"a", "b"}, {"b", "c"}});
  Schedule result = schedule(graph, {.processingElements = 8, .partitioner = Partitioner::Relaxed});
  EXPECT_EQ(result.edges[edgeBetween(graph, "a", "b")].interval, Fraction(4));
  EXPECT_EQ(result.edges[edgeBetween(graph, "b", "c")].interval, Fraction(1));
  EXPECT_EQ(result.tasks[taskNamed(graph, "b")].start, 1);
  EXPECT_EQ(result.makespan, 34);
}

TEST(ScheduleTest, NothingStreamsOutOfABuffer) {
  TaskGraph graph = graphOf({{"a", even}, {"b", {32, 32, TaskKind::Buffer}}, {"c", even}},
                            {{"a", "b"}, {"b", "c"}});
  Schedule result = schedule(graph, {.processingElements = 8});
  EXPECT_EQ(result.makespan, 64);
  EXPECT_EQ(result.tasks[taskNamed(graph, "b")].processingElement, -1);
  EXPECT_EQ(bufferSpace(result), 0);
  EXPECT_EQ(offChipVolume(graph, result), 32 + 32 + 32 + 32); // in, into b, out of b, out
}

TEST(ScheduleTest, BlocksHaveNoMoreTasksThanThereAreProcessingElements) {
  TaskGraph graph = graphOf({{"a", even}, {"b", even}, {"c", even}}, {{"a", "b"}, {"b", "c"}});
  for (Partitioner partitioner : {Partitioner::LargestFirst, Partitioner::Relaxed}) {
    EXPECT_EQ(spatialBlocks(graph, 2, partitioner).size(), 2u);
    EXPECT_EQ(spatialBlocks(graph, 1, partitioner).size(), 3u);
  }
  EXPECT_EQ(schedule(graph, {.processingElements = 1}).makespan, 96);
  EXPECT_EQ(errorOf([&] { schedule(graph, {.processingElements = 0}); }),
            "expected at least 1 processing element, got 0");
}

TEST(ScheduleTest, WhatHasMoreWorkThanItsSourceOpensABlockOrIsTakenRelaxed) {
  TaskGraph graph =
      graphOf({{"a", {8, 8}}, {"b", {8, 64}}, {"c", {8, 8}}}, {{"a", "b"}, {"a", "c"}});
  EXPECT_EQ(spatialBlocks(graph, 8, Partitioner::LargestFirst),
            (std::vector<std::vector<int>>{{1, 3}, {2}}));
  EXPECT_EQ(spatialBlocks(graph, 8, Partitioner::Relaxed),
            (std::vector<std::vector<int>>{{1, 3, 2}}));
}

TEST(ScheduleTest, WithoutStreamsTasksWaitForTheEnd) {
  TaskGraph graph = graphOf({{"a", even}, {"b", even}, {"c", even}, {"d", even}},
                            {{"a", "b"}, {"a", "c"}, {"b", "d"}, {"c", "d"}});
  EXPECT_EQ(scheduleWithoutStreams(graph, 2).makespan, 96);
  EXPECT_EQ(scheduleWithoutStreams(graph, 1).makespan, 128);
}

} // namespace
} // namespace headrace::explore::test
