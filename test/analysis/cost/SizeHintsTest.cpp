#include "analysis/cost/SizeHints.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

DimExpr number(int64_t value) { return DimExpr::constant(value); }

TEST(SizeHintsTest, WhatIsKnownStaysWhatItIs) {
  EXPECT_EQ(SizeHints().of(number(7)), 7);
  EXPECT_EQ(SizeHints().of(number(-1)), 0);
}

TEST(SizeHintsTest, OneDefaultForAllThatNothingIsKnownOf) {
  SizeHints sizes;
  EXPECT_EQ(sizes.of(0U), SizeHints::kDefault);
  EXPECT_EQ(sizes.of(DimExpr::symbol(3)), SizeHints::kDefault);
}

TEST(SizeHintsTest, ExpectedSizesReplaceIt) {
  SizeHints sizes({5, 0, -3});
  EXPECT_EQ(sizes.of(0U), 5);
  EXPECT_EQ(sizes.of(1U), SizeHints::kDefault);
  EXPECT_EQ(sizes.of(2U), SizeHints::kDefault);
  EXPECT_EQ(sizes.of(3U), SizeHints::kDefault);
}

TEST(SizeHintsTest, SumsAndProductsAreEvaluated) {
  SizeHints sizes({10, 3});
  DimExpr a = DimExpr::symbol(0), b = DimExpr::symbol(1);
  EXPECT_EQ(sizes.of(a * b + number(2)), 32);
  EXPECT_EQ(sizes.of((a + number(1)).floorDiv(number(2))), 5);
  EXPECT_EQ(sizes.of(b - a), 0);
}

TEST(SizeHintsTest, WhatIsTooLargeEndsAtTheMost) {
  DimExpr s = DimExpr::symbol(0);
  SizeHints sizes({int64_t{1} << 40});
  EXPECT_EQ(sizes.of(s * s), SizeHints::kMax);
  EXPECT_EQ(sizes.of(s * s * s), SizeHints::kMax);
  EXPECT_EQ(SizeHints({INT64_MAX}).of(0U), SizeHints::kMax);
}

TEST(SizeHintsTest, DivisionByNothingIsNoCrash) {
  DimExpr s = DimExpr::symbol(0);
  EXPECT_EQ(SizeHints({4}).of(s.floorDiv(s - number(4))), SizeHints::kMax);
}

TEST(SizeHintsTest, NamesTellBatches) {
  EXPECT_EQ(SizeHints::fromName("batch"), SizeHints::kBatch);
  EXPECT_EQ(SizeHints::fromName("decoder_batch_size"), SizeHints::kBatch);
  EXPECT_EQ(SizeHints::fromName("N"), SizeHints::kBatch);
  EXPECT_EQ(SizeHints::fromName("n"), 0);
  EXPECT_EQ(SizeHints::fromName("sequence"), 0);
  EXPECT_EQ(SizeHints::fromName(""), 0);
}

} // namespace
} // namespace headrace
