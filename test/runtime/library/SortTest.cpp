#include "runtime/library/Sort.h"

#include "runtime/Helpers.h"
#include "runtime/program/Library.h"

#include <cmath>
#include <limits>
#include <numeric>
#include <random>

namespace headrace {
namespace {

std::vector<int64_t> sorted(const Sort &sort, const std::vector<float> &values, int threads) {
  ThreadPool pool(threads);
  std::vector<int64_t> positions(static_cast<size_t>(sort.outer * sort.taken * sort.inner), -1);
  sortLines(sort, values.data(), positions.data(), pool);
  return positions;
}

TEST(Sort, EqualElementsKeepTheirOrderInEitherDirection) {
  float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> values{2, nan, 1, 2, nan, -1};
  EXPECT_EQ(sorted({1, 6, 1, 6, false}, values, 1), (std::vector<int64_t>{5, 2, 0, 3, 1, 4}));
  EXPECT_EQ(sorted({1, 6, 1, 6, true}, values, 1), (std::vector<int64_t>{1, 4, 0, 3, 2, 5}));
  EXPECT_EQ(sorted({1, 6, 1, 2, true}, values, 1), (std::vector<int64_t>{1, 4}));
  EXPECT_EQ(sorted({1, 6, 1, 0, true}, values, 1), std::vector<int64_t>{});
}

TEST(Sort, LinesAreTakenApart) {
  // Two lines along the middle of 1 x 3 x 2.
  EXPECT_EQ(sorted({1, 3, 2, 2, false}, {3, 1, 1, 3, 2, 2}, 1), (std::vector<int64_t>{1, 0, 2, 2}));
}

TEST(Sort, DoesNotDependOnTheNumberOfThreads) {
  std::mt19937 random(1);
  std::vector<float> values(40 * 1000 * 3);
  for (float &value : values)
    value = static_cast<float>(random() % 50);
  Sort sort{40, 1000, 3, 17, true};
  std::vector<int64_t> alone = sorted(sort, values, 1);
  EXPECT_EQ(sorted(sort, values, 3), alone);
  for (int64_t lines : {1, 7, 1000}) {
    sort.lines = lines;
    EXPECT_EQ(sorted(sort, values, 3), alone);
  }
  std::vector<int64_t> all = sorted({40, 1000, 3, 1000, true}, values, 2);
  for (int64_t line = 0; line < 120; ++line)
    for (int64_t i = 0; i < sort.taken; ++i)
      EXPECT_EQ(alone[static_cast<size_t>((line / 3 * 17 + i) * 3 + line % 3)],
                all[static_cast<size_t>((line / 3 * 1000 + i) * 3 + line % 3)]);
}

TEST(Sort, StepsThatWouldLeaveTheirBuffersAreFaults) {
  auto fault = [](std::vector<int64_t> parameters, std::vector<int64_t> bytes) {
    return sortStepFault<float>(parameters, bytes);
  };
  EXPECT_EQ(fault({2, 3, 1, 2, 0}, {24, 32}), "");
  EXPECT_EQ(fault({2, 3, 1, 2, 0, 64}, {24, 32}), "");
  EXPECT_NE(fault({2, 3, 1, 2, 0, -1}, {24, 32}), "");
  EXPECT_NE(fault({2, 3, 1, 2, 0, int64_t{1} << 40}, {24, 32}), "");
  EXPECT_NE(fault({2, 3, 1, 2, 0}, {20, 32}), "");
  EXPECT_NE(fault({2, 3, 1, 2, 0}, {24, 24}), "");
  EXPECT_NE(fault({2, 3, 1, 4, 0}, {24, 64}), "");
  EXPECT_NE(fault({-1, 3, 1, 2, 0}, {24, 32}), "");
  EXPECT_NE(fault({int64_t{1} << 62, 3, 1, 2, 0}, {24, 32}), "");
}

} // namespace
} // namespace headrace
