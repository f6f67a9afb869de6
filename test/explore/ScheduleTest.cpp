#include "explore/Schedule.h"

#include "explore/Graphs.h"

namespace headrace::explore::test {
namespace {

Schedule onEnough(const TaskGraph &graph, int storeRounds = 5) {
  return schedule(graph, {.processingElements = graph.size(), .storeRounds = storeRounds});
}

const Volumes even{32, 32};

TEST(ScheduleTest, AShortcutPastAChainHoldsWhatTheChainDelays) {
  TaskGraph graph = graphOf({{"1", even}, {"2", even}, {"3", even}, {"4", even}, {"5", even}},
                            {{"1", "2"}, {"2", "3"}, {"3", "4"}, {"4", "5"}, {"1", "5"}});
  Schedule result = onEnough(graph);
  EXPECT_EQ(result.edges[edgeBetween(graph, "1", "5")].capacity, 3);
  EXPECT_EQ(result.edges[edgeBetween(graph, "4", "5")].capacity, 1);
  EXPECT_EQ(result.makespan, 32 + 4);
}

} // namespace
} // namespace headrace::explore::test
