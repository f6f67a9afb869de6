#include "dialect/SizeAlgebra.h"
#include "dialect/SymbolicShape.h"
#include "runtime/system/Error.h"
#include "runtime/tensor/RandomSize.h"

#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace headrace {

class SizeAlgebra : public testing::Test {
protected:
  MLIRContext context{MLIRContext::Threading::DISABLED};
  AffineExpr a = getAffineSymbolExpr(0, &context), b = getAffineSymbolExpr(1, &context);
  AffineExpr number(int64_t value) { return constantDim(value, &context); }
};

TEST_F(SizeAlgebra, ProductsOfSymbolsAreTheSameInAnyOrder) {
  EXPECT_TRUE(sameSize((a * b) * 4, a * (b * 4)));
  EXPECT_TRUE(sameSize(a * b * 12, (b * 3) * (a * 4)));
  EXPECT_TRUE(sameSize((a + 1) * (b + 2), a * b + a * 2 + b + 2));
  EXPECT_FALSE(sameSize(a * b, a * a));
  EXPECT_FALSE(sameSize(a * b * 4, a * b));
  EXPECT_EQ(normalized((a * b) * 4), normalized((b * 2) * (a * 2)));
}

TEST_F(SizeAlgebra, EqualShapesGiveEqualTypes) {
  Type f32 = Float32Type::get(&context);
  EXPECT_EQ(tensorType({a * (b * 4)}, f32), tensorType({(a * 4) * b}, f32));
}

TEST_F(SizeAlgebra, QuotientsAreExactOrNone) {
  EXPECT_EQ(exactQuotient(a * b * 12, a * 4), normalized(b * 3));
  EXPECT_EQ(exactQuotient(a * 6 + b * 4, number(2)), normalized(a * 3 + b * 2));
  EXPECT_EQ(exactQuotient(a * a + a * b, a + b), a);
  AffineExpr rows = a.floorDiv(2) + 1;
  EXPECT_EQ(exactQuotient(rows * 64 * b, b * 64), rows);
  EXPECT_EQ(exactQuotient(a, number(2)), std::nullopt);
  EXPECT_EQ(exactQuotient(a, b), std::nullopt);
  EXPECT_EQ(exactQuotient(a + 1, a), std::nullopt);
  EXPECT_EQ(exactQuotient(a, number(0)), std::nullopt);
}

namespace {
/// The compiler's sizes, as MLIR computes with them.
struct AffineAlgebra {
  using Expr = AffineExpr;
  static constexpr bool hasExtrema = false;
  MLIRContext *context;
  AffineExpr constant(int64_t value) const { return constantDim(value, context); }
  AffineExpr symbol(unsigned index) const { return getAffineSymbolExpr(index, context); }
  AffineExpr floorDiv(AffineExpr a, int64_t b) const { return a.floorDiv(b); }
  AffineExpr ceilDiv(AffineExpr a, int64_t b) const { return a.ceilDiv(b); }
  AffineExpr mod(AffineExpr a, int64_t b) const { return a % b; }
};
} // namespace

TEST_F(SizeAlgebra, ConversionsKeepTheValue) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    test::RandomSize<AffineAlgebra> source(seed, {&context});
    auto [expr, value] = source.make(4);
    DimExpr size = toDimExpr(expr);
    ASSERT_EQ(size.evaluate(source.symbols), value) << "seed " << seed << ": " << size.str({});
    AffineExpr back = toAffineExpr(size, &context);
    ASSERT_EQ(toDimExpr(back).evaluate(source.symbols), value) << "seed " << seed;
    ASSERT_EQ(normalized(expr), back) << "seed " << seed;
  }
}

TEST_F(SizeAlgebra, WhatIsNormalStaysAsItIs) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    AffineExpr expr = test::RandomSize<AffineAlgebra>(seed, {&context}).make(4).first;
    AffineExpr once = normalized(expr);
    ASSERT_EQ(normalized(once), once) << "seed " << seed << ": " << toDimExpr(expr).str({});
    ASSERT_TRUE(sameSize(expr, once)) << "seed " << seed << ": " << toDimExpr(expr).str({});
  }
}

TEST_F(SizeAlgebra, QuotientsAndRemaindersMakeTheirDividend) {
  EXPECT_TRUE(sameSize(a.floorDiv(4) * 4 + b + a % 4, a + b));
  EXPECT_TRUE(sameSize(a + b - a.floorDiv(4) * 4, a % 4 + b));
  EXPECT_EQ(normalized((a * 3 - 2).floorDiv(2).floorDiv(3)), normalized((a * 3 - 2).floorDiv(6)));
  EXPECT_EQ(normalized(a.ceilDiv(4)), normalized((a + 3).floorDiv(4)));
  EXPECT_FALSE(sameSize(a.floorDiv(4) * 4 + b, a + b));
}

TEST_F(SizeAlgebra, SignsAreThoseOfTheNormalForm) {
  EXPECT_TRUE(isNonNegative(a * b + a.floorDiv(2)));
  EXPECT_TRUE(isNonNegative((a + 5) - (a + 3)));
  EXPECT_TRUE(isNonNegative(a.ceilDiv(8)));
  EXPECT_FALSE(isNonNegative(a - 1));
  EXPECT_FALSE(isNonNegative((a - 1).floorDiv(2)));
}

TEST_F(SizeAlgebra, SizesOutOfHandAreRefusedAndStayAsTheyAre) {
  AffineExpr large = a * INT64_MAX;
  AffineExpr overflows = large + b + a;
  EXPECT_THROW(toDimExpr(overflows), Error);
  EXPECT_EQ(normalized(overflows), overflows);
  EXPECT_FALSE(isNonNegative(overflows));
  EXPECT_FALSE(sameSize(overflows, b));
  EXPECT_FALSE(sameSize(number(INT64_MIN), b + INT64_MAX));
  EXPECT_EQ(exactQuotient(overflows, a), std::nullopt);
  EXPECT_EQ(boundOfNonNegative(a + INT64_MIN), std::nullopt);
  EXPECT_FALSE(isManageable(large, INT64_MAX - 1));
  EXPECT_TRUE(isManageable(a * 4 + 3, 4));
}

TEST_F(SizeAlgebra, SharedExpressionsAreConvertedOnce) {
  // Written out it has 2^16 leaves, its normal form two.
  AffineExpr shared = a;
  for (int i = 0; i < 16; ++i)
    shared = (shared + 1) * b - (shared + 1) * (b - 1);
  EXPECT_FALSE(isManageable(shared, 100));
  EXPECT_EQ(normalized(shared), a + 16);
}

} // namespace headrace
