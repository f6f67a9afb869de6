// The filter that lets hr-accuracy look at every f32 passes over nothing that is wrong.
#include "Functions.h"
#include "ManyResults.h"
#include "Units.h"
#include <bit>
#include <gtest/gtest.h>
#include <random>

namespace headrace::accuracy {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::vector<float> anyNumbers() {
  std::vector<float> numbers{0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1.0f, -1.0f, 1e-45f, 3e38f};
  std::mt19937 random(1);
  for (int i = 0; i < 20'000; ++i)
    numbers.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  return numbers;
}

std::vector<int64_t> suspectsOf(const ManyResults &many, const std::vector<float> &got,
                                const std::vector<double> &exact, double units) {
  std::vector<int64_t> suspects(got.size());
  int64_t count = static_cast<int64_t>(got.size());
  suspects.resize(
      many.findSuspects(got.data(), exact.data(), count, kF32.least, units, suspects.data()));
  return suspects;
}

TEST(Accuracy, ManyExactResultsAreThoseOfTheCLibrary) {
  std::vector<float> x = anyNumbers();
  std::vector<double> found(x.size());
  for (const Function &function : functions()) {
    std::optional<ManyResults> many = manyResults(function.name);
    if (!many)
      GTEST_SKIP() << "this processor computes one result at a time";
    many->exact(x.data(), found.data(), static_cast<int64_t>(x.size()));
    for (size_t i = 0; i < x.size(); ++i) {
      double exact = function.of32(x[i]);
      bool isSame = found[i] == exact || (std::isnan(found[i]) && std::isnan(exact));
      ASSERT_TRUE(isSame || std::fabs(found[i] - exact) <= 0x1p-44 * std::fabs(exact))
          << function.name << " of " << x[i] << ": " << found[i] << ", expected " << exact;
    }
  }
}

TEST(Accuracy, EveryLargerErrorIsSuspect) {
  std::optional<ManyResults> many = manyResults("exp");
  if (!many)
    GTEST_SKIP() << "this processor computes one result at a time";
  std::vector<float> got = anyNumbers();
  std::vector<double> exact;
  std::mt19937 random(2);
  std::uniform_real_distribution<double> units(-3, 3);
  for (float y : got)
    exact.push_back(y + units(random) * std::ldexp(1.0, std::max(std::ilogb(y), -126) - 23));
  std::vector<int64_t> suspects = suspectsOf(*many, got, exact, 1.5);
  for (size_t i = 0; i < got.size(); ++i)
    if (unitsBetween(static_cast<double>(got[i]), exact[i], kF32, kF32.least) > 1.5)
      ASSERT_TRUE(std::ranges::binary_search(suspects, static_cast<int64_t>(i)))
          << got[i] << ", exact " << exact[i];
  EXPECT_LT(suspects.size(), got.size() * 3 / 4);
}

TEST(Accuracy, WhatIsNotFiniteOrHasTheWrongSignIsSuspect) {
  std::optional<ManyResults> many = manyResults("exp");
  if (!many)
    GTEST_SKIP() << "this processor computes one result at a time";
  std::vector<float> got{0.0f, -0.0f, NAN, 1.0f, INFINITY, -INFINITY, INFINITY, NAN, 0.0f};
  std::vector<double> exact{-0.0, 0.0, 1.0, NAN, -kInfinity, kInfinity, kInfinity, NAN, 0.0};
  EXPECT_EQ(suspectsOf(*many, got, exact, 2), (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
}

} // namespace
} // namespace headrace::accuracy
