#include "analysis/cost/NominalSizes.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

DimExpr number(int64_t value) { return DimExpr::constant(value); }

TEST(NominalSizesTest, WhatIsKnownStaysWhatItIs) {
  EXPECT_EQ(NominalSizes().of(number(7)), 7);
  EXPECT_EQ(NominalSizes().of(number(-1)), 0);
}

TEST(NominalSizesTest, OneDefaultForAllThatNothingIsKnownOf) {
  NominalSizes sizes;
  EXPECT_EQ(sizes.of(0U), NominalSizes::kDefault);
  EXPECT_EQ(sizes.of(DimExpr::symbol(3)), NominalSizes::kDefault);
}

TEST(NominalSizesTest, ExpectedSizesReplaceIt) {
  NominalSizes sizes({5, 0, -3});
  EXPECT_EQ(sizes.of(0U), 5);
  EXPECT_EQ(sizes.of(1U), NominalSizes::kDefault);
  EXPECT_EQ(sizes.of(2U), NominalSizes::kDefault);
  EXPECT_EQ(sizes.of(3U), NominalSizes::kDefault);
}

TEST(NominalSizesTest, SumsAndProductsAreEvaluated) {
  NominalSizes sizes({10, 3});
  DimExpr a = DimExpr::symbol(0), b = DimExpr::symbol(1);
  EXPECT_EQ(sizes.of(a * b + number(2)), 32);
  EXPECT_EQ(sizes.of((a + number(1)).floorDiv(number(2))), 5);
  EXPECT_EQ(sizes.of(b - a), 0);
}

TEST(NominalSizesTest, WhatIsTooLargeEndsAtTheMost) {
  DimExpr s = DimExpr::symbol(0);
  NominalSizes sizes({int64_t{1} << 40});
  EXPECT_EQ(sizes.of(s * s), NominalSizes::kMost);
  EXPECT_EQ(sizes.of(s * s * s), NominalSizes::kMost);
  EXPECT_EQ(NominalSizes({INT64_MAX}).of(0U), NominalSizes::kMost);
}

TEST(NominalSizesTest, DivisionByNothingIsNoCrash) {
  DimExpr s = DimExpr::symbol(0);
  EXPECT_EQ(NominalSizes({4}).of(s.floorDiv(s - number(4))), NominalSizes::kMost);
}

TEST(NominalSizesTest, NamesTellBatches) {
  EXPECT_EQ(NominalSizes::fromName("batch"), NominalSizes::kBatch);
  EXPECT_EQ(NominalSizes::fromName("decoder_batch_size"), NominalSizes::kBatch);
  EXPECT_EQ(NominalSizes::fromName("N"), NominalSizes::kBatch);
  EXPECT_EQ(NominalSizes::fromName("n"), 0);
  EXPECT_EQ(NominalSizes::fromName("sequence"), 0);
  EXPECT_EQ(NominalSizes::fromName(""), 0);
}

} // namespace
} // namespace headrace
