// Random operators on random legal schedules against loops over plain numbers.
#include "target/vta/RandomOperators.h"

#include <cstdlib>
#include <gtest/gtest.h>

namespace headrace::vta {
namespace {

using namespace test;

class VtaRandom : public testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Configurations, VtaRandom,
                         testing::Values("block16", "block32", "batch2"));

TEST_P(VtaRandom, OperatorsOnRandomSchedulesAreComputedBitForBit) {
  Configuration configuration = exampleConfiguration(GetParam());
  int count = std::getenv("HEADRACE_LARGE_TESTS") != nullptr ? 2000 : 150;
  for (int seed = 0; seed < count && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomOperators operators(static_cast<uint64_t>(seed), configuration);
    Operator op = operators.next();
    expectRight(op, operators.schedule(op), configuration, static_cast<uint64_t>(seed));
  }
}

// Small memories: constants have no room for all channels at once.
TEST(VtaRandom, TinyMemoriesAreEnough) {
  Configuration tiny;
  tiny.logInpBuffer = 11;
  tiny.logWgtBuffer = 13;
  tiny.logAccBuffer = 13;
  tiny.logUopBuffer = 9;
  int ran = 0;
  for (uint64_t seed = 0; seed < 120 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomOperators operators(seed, tiny);
    Operator op = operators.next();
    if (!unsupportedReason(op, tiny).empty())
      continue;
    ++ran;
    expectRight(op, operators.schedule(op), tiny, seed);
    if (seed % 10 == 0)
      expectRight(op, propose(op, tiny), tiny, seed);
  }
  EXPECT_GT(ran, 60);
}

} // namespace
} // namespace headrace::vta
