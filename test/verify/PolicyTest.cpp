#include "verify/Policy.h"

#include "verify/RandomValues.h"
#include <cmath>
#include <gtest/gtest.h>
#include <limits>

namespace headrace::verify {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor doubles(const std::vector<double> &values) {
  Tensor tensor = Tensor::allocate(DType::F64, {static_cast<int64_t>(values.size())});
  std::copy(values.begin(), values.end(), tensor.as<double>());
  return tensor;
}

Tensor floats(const std::vector<double> &values) { return doubles(values).converted(DType::F32); }

Tensor integers(const std::vector<double> &values) { return doubles(values).converted(DType::I64); }

// Values of size 1, and an evaluation in f32 with errors of about 1e-6.
struct Example {
  std::vector<double> exact, rounded;
};

Example example(int count) {
  Example made;
  RandomNumbers numbers(1);
  auto random = [&] { return static_cast<double>(numbers.bits(53)) * 0x1p-52 - 1; };
  for (int i = 0; i < count; ++i) {
    made.exact.push_back(random());
    made.rounded.push_back(made.exact.back() + 1.7e-6 * random());
  }
  return made;
}

TEST(Policy, AllowsThreeTimesTheErrorOfSinglePrecision) {
  Example made = example(10000);
  for (auto [error, holds] : {std::pair(2.8e-6, true), {3.3e-6, false}}) {
    std::vector<double> found = made.exact;
    for (size_t i = 0; i < found.size(); ++i)
      found[i] += i % 2 ? error : -error;
    Judgement judgement = judge(doubles(found), doubles(made.exact), {{doubles(made.rounded)}});
    EXPECT_EQ(judgement.holds, holds) << text(judgement);
    EXPECT_NEAR(judgement.error, error, 1e-9);
  }
}

TEST(Policy, JudgesByTheSizeOfTheWholeResult) {
  // An element of 1e-9 next to values of size 1 may be off by itself.
  std::vector<double> exact{1, -1, 0.5, 1e-9}, found{1, -1, 0.5, 0};
  EXPECT_TRUE(judge(floats(found), doubles(exact), {}).holds);
  found[0] = 1.001;
  Judgement judgement = judge(floats(found), doubles(exact), {});
  EXPECT_FALSE(judgement.holds);
  EXPECT_EQ(judgement.place, Shape{0});
}

TEST(Policy, FindsOneWrongElementAmongMany) {
  Example made = example(100000);
  std::vector<double> found = made.rounded;
  found[4321] += 0.01;
  Judgement judgement = judge(floats(found), doubles(made.exact), {{doubles(made.rounded)}});
  EXPECT_FALSE(judgement.holds);
  EXPECT_EQ(judgement.place, Shape{4321});
}

TEST(Policy, WantsEqualityWhereNothingIsRounded) {
  EXPECT_TRUE(judge(integers({1, 2, 3}), integers({1, 2, 3}), {}).holds);
  EXPECT_FALSE(judge(integers({1, 2, 4}), integers({1, 2, 3}), {}).holds);
  // A difference of 1 beyond what doubles tell apart.
  Tensor large = integers({0}), next = integers({0});
  *large.as<int64_t>() = (int64_t{1} << 60) + 1;
  *next.as<int64_t>() = int64_t{1} << 60;
  EXPECT_FALSE(judge(large, next, {}).holds);
  // If rounding decides between integers, as in a quantized model, it may go either way.
  EXPECT_TRUE(judge(integers({1, 2, 4}), integers({1, 2, 3}), {{integers({1, 3, 3})}}).holds);
}

TEST(Policy, TellsWhatIsNotFinite) {
  EXPECT_TRUE(judge(floats({NAN, infinity}), doubles({NAN, infinity}), {}).holds);
  EXPECT_FALSE(judge(floats({1, 1}), doubles({NAN, 1}), {}).holds);
  EXPECT_FALSE(judge(floats({NAN, 1}), doubles({1, 1}), {}).holds);
  EXPECT_FALSE(judge(floats({-infinity}), doubles({infinity}), {}).holds);
  // Too large for the type.
  EXPECT_TRUE(judge(floats({infinity}), doubles({1e40}), {}).holds);
  EXPECT_FALSE(judge(floats({1e38}), doubles({1e40}), {}).holds);
}

TEST(Policy, SetsApartWhereRoundingExplainsAnyDifference) {
  // A jump from 0 to 1 that rounding crosses in one of the runs, and a place where it does not.
  std::vector<double> exact(100, 0.25), near = exact;
  exact[7] = 0;
  near[7] = 1;
  std::vector<double> found = exact;
  found[7] = 1;
  EXPECT_FALSE(judge(floats(found), doubles(exact), {}).holds);
  Judgement judgement = judge(floats(found), doubles(exact), {}, {{doubles(near)}});
  EXPECT_TRUE(judgement.holds) << text(judgement);
  EXPECT_EQ(judgement.steep, 1);
  found[8] = 1;
  EXPECT_FALSE(judge(floats(found), doubles(exact), {}, {{doubles(near)}}).holds);
}

TEST(Policy, TypesAndShapesAreTheSame) {
  EXPECT_FALSE(judge(floats({1}), floats({1}).reshaped({1, 1}), {}).holds);
  EXPECT_FALSE(judge(integers({1}), doubles({1}), {}).holds);
  EXPECT_TRUE(judge(doubles({}), doubles({}), {}).holds);
}

} // namespace
} // namespace headrace::verify
