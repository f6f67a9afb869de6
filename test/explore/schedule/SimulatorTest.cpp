#include "explore/schedule/Simulator.h"

#include "explore/graph/Graphs.h"

namespace headrace::explore::test {
namespace {

// A reduction by 4, spread again, joins the stream it came from; "slow" makes everything eight
// times slower, so that no latency hides behind an element.
TaskGraph circle() {
  return graphOf(
      {{"fork", {64, 64}},
       {"sum", {64, 16}},
       {"spread", {16, 64}},
       {"join", {64, 64}},
       {"slow", {64, 512}}},
      {{"fork", "sum"}, {"sum", "spread"}, {"spread", "join"}, {"fork", "join"}, {"join", "slow"}});
}

TEST(SimulatorTest, AChainRunsAsScheduled) {
  TaskGraph graph =
      graphOf({{"a", {32, 32}}, {"b", {32, 8}}, {"c", {8, 24}}}, {{"a", "b"}, {"b", "c"}});
  Schedule plan = schedule(graph, {.processingElements = 4});
  Simulation run = simulate(graph, plan);
  EXPECT_TRUE(run.deadlock.empty());
  EXPECT_EQ(run.makespan, plan.makespan);
  for (int task = 1; task < graph.sink(); ++task) {
    EXPECT_EQ(run.tasks[task].start, plan.tasks[task].start) << task;
    EXPECT_EQ(run.tasks[task].end, plan.tasks[task].end) << task;
  }
}

TEST(SimulatorTest, TheComputedBufferOfACircleIsTheSmallestThatRuns) {
  TaskGraph graph = circle();
  Schedule plan = schedule(graph, {.processingElements = 8, .partitioner = Partitioner::Relaxed});
  int shortcut = edgeBetween(graph, "fork", "join");
  ASSERT_EQ(plan.edges[shortcut].capacity, 4);
  EXPECT_TRUE(simulate(graph, plan).deadlock.empty());

  plan.edges[shortcut].capacity = 3;
  Simulation run = simulate(graph, plan);
  EXPECT_EQ(
      deadlockText(graph, run),
      "deadlock: 'fork' waits for room in its buffer of 3 elements to 'join', 'join' waits for "
      "element 0 from 'spread', 'spread' waits for element 0 from 'sum', 'sum' waits for element "
      "3 from 'fork'");
}

TEST(SimulatorTest, ADeadlockThroughABufferIsNamed) {
  TaskGraph graph = graphOf({{"a", {8, 8}}, {"all", {8, 8, TaskKind::Buffer}}, {"b", {8, 8}}},
                            {{"a", "all"}, {"all", "b"}, {"a", "b"}});
  Schedule plan = schedule(graph, {.processingElements = 4, .storeRounds = 0});
  int stream = edgeBetween(graph, "a", "b");
  EXPECT_EQ(plan.edges[stream].capacity, 8);
  EXPECT_TRUE(simulate(graph, plan).deadlock.empty());
  plan.edges[stream].capacity = 7;
  EXPECT_EQ(
      deadlockText(graph, simulate(graph, plan)),
      "deadlock: 'a' waits for room in its buffer of 7 elements to 'b', 'b' waits for the end of "
      "'all', 'all' waits for the end of 'a'");
}

TEST(SimulatorTest, GraphsThatMoveTooMuchAreRefused) {
  TaskGraph graph = circle();
  Schedule plan = schedule(graph, {.processingElements = 8});
  EXPECT_EQ(errorOf([&] { simulate(graph, plan, 100); }),
            "expected a task graph that moves at most 100 elements to simulate, got 848");
}

} // namespace
} // namespace headrace::explore::test
