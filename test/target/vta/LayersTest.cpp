// Layers of networks on schedules that are proposed: their results, and how near the peak they are.
#include "target/vta/Reference.h"
#include "target/vta/schedule/ScheduleReport.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace headrace::vta {
namespace {

using namespace test;

bool large() { return std::getenv("HEADRACE_LARGE_TESTS") != nullptr; }

class VtaLayers : public testing::TestWithParam<std::string> {
protected:
  Configuration configuration = exampleConfiguration(GetParam());
};

INSTANTIATE_TEST_SUITE_P(Configurations, VtaLayers,
                         testing::Values("block16", "block32", "batch2"));

// All of them with HEADRACE_LARGE_TESTS.
TEST_P(VtaLayers, ResNetLayersAreComputedBitForBit) {
  for (const Layer &layer : resNet18Layers())
    for (int64_t threads : {1, 2}) {
      if (!large() && (layer.window == 3 || threads == 1))
        continue;
      Operator op = convolutionOf(layer, configuration.batch());
      Schedule schedule = propose(op, configuration, threads);
      Simulation simulation = expectRight(op, schedule, configuration);
      ScheduleReport report = simulate(op, schedule, configuration);
      EXPECT_EQ(report.cycles, simulation.cycles);
      if (large())
        std::printf("%-8s %-20s %ld %8ld cycles %5.1f%% of peak\n%s", GetParam().c_str(),
                    op.name.c_str(), threads, report.cycles, 100 * report.peakShare,
                    textOf(schedule, op).c_str());
    }
}

TEST_P(VtaLayers, DenseLayersAreComputedBitForBit) {
  for (int64_t threads : {1, 2})
    for (auto [rows, columns, depth] :
         {std::tuple(128, 128, 128), {16, 512, 1008}, {1, 10, 64}, {3, 1000, 20}}) {
      Operator op = denseOf(rows, columns, depth);
      expectRight(op, propose(op, configuration, threads), configuration);
    }
}

} // namespace
} // namespace headrace::vta
