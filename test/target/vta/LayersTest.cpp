// Layers of networks on schedules that are proposed: their results, and how near the peak they are.
#include "target/vta/Reference.h"
#include "target/vta/schedule/choose/ScheduleReport.h"

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

// The first convolution has three channels, of a block of 16 or 32.
TEST_P(VtaLayers, TheFirstLayersOfResNetAreComputedBitForBit) {
  Operator first = convolutionOf({large() ? 224 : 30, 3, 64, 7, 2}, 1);
  int64_t image = first.result().height;
  Operator pool{"pool", {1, 64, image, image}, MaxPool{{2, 2, 1, 1, 1, 1}, 3, 3}, {}};
  for (const Operator &op : {first, pool})
    for (int64_t threads : {1, 2})
      expectRight(op, propose(op, configuration, threads), configuration);
}

// A convolution of MobileNet for each channel alone, and one in groups that do not fill blocks.
TEST_P(VtaLayers, GroupedLayersAreComputedBitForBit) {
  for (auto [channels, groups, out] :
       {std::tuple(64, 64, 64), {96, 4, 48}, {40, 5, 80}, {9, 3, 6}}) {
    Operator op = convolutionOf({14, channels / groups, out, 3, 1}, configuration.batch());
    op.input.channels = channels;
    std::get<Convolution>(op.core).groups = groups;
    for (int64_t threads : {1, 2})
      expectRight(op, propose(op, configuration, threads), configuration);
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
