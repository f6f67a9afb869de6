#include "runtime/program/MemoryPlan.h"

#include "runtime/Helpers.h"

#include <random>

namespace headrace {
namespace {

using namespace test;

TEST(MemoryPlan, AChainNeedsTwoBuffers) {
  std::vector<Lifetime> lifetimes;
  for (int i = 0; i < 10; ++i)
    lifetimes.push_back({1000, i, i + 1});
  MemoryPlan plan = planMemory(lifetimes);
  EXPECT_EQ(plan.totalBytes, 2 * 1024);
  EXPECT_EQ(plan.unsharedBytes, 10 * 1024);
}

TEST(MemoryPlan, TakesTheTightestGap) {
  // Steps 0-9 leave gaps of 1024 and 512 between three long-lived buffers.
  std::vector<Lifetime> lifetimes = {{4096, 0, 9}, {1024, 0, 0}, {1000, 0, 9},
                                     {512, 0, 0},  {300, 0, 9},  {256, 5, 5}};
  MemoryPlan plan = planMemory(lifetimes);
  EXPECT_EQ(plan.offsets[5], plan.offsets[3]);
}

TEST(MemoryPlan, EmptyCases) {
  EXPECT_EQ(planMemory({}).totalBytes, 0);
  std::vector<Lifetime> empty = {{0, 0, 3}, {0, 1, 2}};
  EXPECT_EQ(planMemory(empty).totalBytes, 0);
}

TEST(MemoryPlan, RefusesNonsense) {
  std::vector<Lifetime> backwards = {{64, 3, 1}};
  EXPECT_THROW(planMemory(backwards), InternalError);
  std::vector<Lifetime> vast(4, {INT64_MAX / 2 - 64, 0, 0});
  errorOf(ErrorKind::InvalidArgument, [&] { planMemory(vast); });
}

TEST(MemoryPlan, BuffersAliveTogetherNeverOverlap) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    std::mt19937 random(seed);
    auto pick = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    std::vector<Lifetime> lifetimes;
    for (int i = pick(1, 60); i > 0; --i) {
      int first = pick(0, 30);
      lifetimes.push_back({pick(0, 5000), first, first + pick(0, 8)});
    }
    MemoryPlan plan = planMemory(lifetimes);
    ASSERT_LE(plan.totalBytes, plan.unsharedBytes);
    for (size_t i = 0; i < lifetimes.size(); ++i) {
      const Lifetime &a = lifetimes[i];
      ASSERT_EQ(plan.offsets[i] % 64, 0);
      ASSERT_GE(plan.offsets[i], 0);
      ASSERT_LE(plan.offsets[i] + a.bytes, plan.totalBytes);
      for (size_t j = 0; j < i; ++j) {
        const Lifetime &b = lifetimes[j];
        bool together = a.first <= b.last && b.first <= a.last;
        bool overlap = plan.offsets[i] < plan.offsets[j] + b.bytes &&
                       plan.offsets[j] < plan.offsets[i] + a.bytes;
        ASSERT_FALSE(together && overlap) << "seed " << seed << ", buffers " << i << " and " << j;
      }
    }
  }
}

} // namespace
} // namespace headrace
