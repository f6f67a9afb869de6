#include "explore/graph/Fraction.h"

#include <gtest/gtest.h>

namespace headrace::explore {
namespace {

TEST(FractionTest, IsKeptInLowestTerms) {
  Fraction half = Fraction::ratio(6, 12);
  EXPECT_EQ(half.numerator(), 1);
  EXPECT_EQ(half.denominator(), 2);
  EXPECT_EQ(half.text(), "1/2");
  EXPECT_EQ((half * Fraction(4)).text(), "2");
  EXPECT_EQ((half + Fraction::ratio(1, 3)).text(), "5/6");
  EXPECT_EQ((half / Fraction::ratio(3, 4)).text(), "2/3");
}

TEST(FractionTest, RoundsUpExactly) {
  EXPECT_EQ(Fraction::ratio(7, 3).ceiling(), 3);
  EXPECT_EQ(Fraction::ratio(6, 3).ceiling(), 2);
  EXPECT_EQ(Fraction::ratio(-7, 3).ceiling(), -2);
  // As double, both are 1.
  EXPECT_EQ(Fraction::ratio((int64_t{1} << 60) + 1, int64_t{1} << 60).ceiling(), 2);
  EXPECT_EQ(Fraction::ratio((int64_t{1} << 60) - 1, int64_t{1} << 60).ceiling(), 1);
}

TEST(FractionTest, ComparesWhatDoublesTakeForEqual) {
  int64_t large = int64_t{1} << 40;
  EXPECT_LT(Fraction::ratio(large - 1, large), Fraction::ratio(large, large + 1));
  EXPECT_EQ(Fraction::ratio(2, 4), Fraction::ratio(1, 2));
}

TEST(FractionTest, IntervalsTimesVolumesFitAtTheLimits) {
  int64_t large = int64_t{1} << 40;
  Fraction interval = Fraction::ratio(large, large - 1);
  EXPECT_EQ((interval * Fraction(large - 2)).ceiling(), large - 1);
}

TEST(FractionTest, WhatDoesNotFitIsAnError) {
  Fraction large = Fraction(INT64_MAX);
  EXPECT_THROW((large * large * large).ceiling(), Error);
  EXPECT_THROW((large * large).ceiling(), Error);
  EXPECT_THROW(Fraction::ratio(1, 0), InternalError);
}

} // namespace
} // namespace headrace::explore
