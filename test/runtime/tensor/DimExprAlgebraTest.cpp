// Facts that DimExpr knows of sizes for all values of their symbols.

#include "runtime/Helpers.h"
#include "runtime/tensor/DimExpr.h"
#include "runtime/tensor/RandomSize.h"

namespace headrace {
namespace {

using namespace test;

DimExpr c(int64_t value) { return DimExpr::constant(value); }
DimExpr s(unsigned index) { return DimExpr::symbol(index); }

TEST(DimExprAlgebra, EqualPolynomialsAreEqualHoweverTheyAreWritten) {
  for (unsigned seed = 0; seed < 1000; ++seed) {
    RandomSize source(seed);
    DimExpr x = source.polynomial(3).first, y = source.polynomial(2).first,
            z = source.polynomial(2).first;
    ASSERT_EQ((x + y) * z, z * y + x * z) << "seed " << seed;
    ASSERT_EQ((x - y) * (x + y), x * x - y * y) << "seed " << seed;
    ASSERT_EQ(x + y - x, y) << "seed " << seed;
  }
}

TEST(DimExprAlgebra, TextIsReadBackAsTheSameSize) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomSize source(seed);
    auto [expr, value] = source.make(4);
    DimExpr read = DimExpr::parse(expr.str({}), 3);
    ASSERT_EQ(read, expr) << "seed " << seed << ": " << expr.str({});
    ASSERT_EQ(read.evaluate(source.symbols), value) << "seed " << seed;
  }
}

TEST(DimExprAlgebra, ARemainderIsWhatTheQuotientLeaves) {
  for (const DimExpr &x :
       {s(0), s(0) * c(2) + c(1), s(0) * s(1) + c(3), c(5) - s(1), c(7) * s(0)}) {
    DimExpr quotient = x.floorDiv(c(4)), rest = x.mod(c(4));
    EXPECT_EQ(quotient * c(4) + rest, x) << x.str({});
    EXPECT_EQ(quotient * c(4) * s(2) + rest * s(2), x * s(2)) << x.str({});
    EXPECT_EQ((quotient * c(4) + rest) * (quotient + rest), x * quotient + x * rest) << x.str({});
    EXPECT_EQ((x - quotient * c(4) - rest).asConstant(), 0) << x.str({});
  }
  EXPECT_EQ(s(0) - s(0).floorDiv(c(4)) * c(4), s(0).mod(c(4)));
  EXPECT_EQ(s(0) * c(2) - s(0).floorDiv(c(4)) * c(4), s(0) + s(0).mod(c(4)));
  EXPECT_EQ((s(0) * c(2)).mod(c(4)), s(0).mod(c(2)) * c(2));
  EXPECT_EQ((s(0) * c(6) + c(5)).mod(c(4)), s(0).mod(c(2)) * c(2) + c(1));
  EXPECT_FALSE(s(0) - s(0).floorDiv(c(4)) * c(3) == s(0).mod(c(4)));
}

TEST(DimExprAlgebra, QuotientsOfRandomProductsAreFound) {
  int found = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomSize source(seed);
    DimExpr x = source.polynomial(3).first, y = source.polynomial(2).first;
    if (y.asConstant() == 0) {
      EXPECT_EQ((x * y).exactQuotient(y), std::nullopt);
      continue;
    }
    ++found;
    ASSERT_EQ((x * y).exactQuotient(y), x)
        << "seed " << seed << ": " << x.str({}) << " times " << y.str({});
    ASSERT_EQ((x * y).floorDiv(y), x) << "seed " << seed;
    ASSERT_EQ((x * y).mod(y), c(0)) << "seed " << seed;
  }
  EXPECT_GT(found, 1000);
}

TEST(DimExprAlgebra, QuotientsThatAreNotExactAreNone) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomSize source(seed);
    auto [a, x] = source.make(3);
    auto [b, y] = source.make(2);
    if (auto quotient = a.exactQuotient(b); quotient && y != 0) {
      EXPECT_EQ(quotient->evaluate(source.symbols) * y, x) << "seed " << seed;
    }
  }
  EXPECT_EQ((s(0) + c(1)).exactQuotient(s(0)), std::nullopt);
  EXPECT_EQ((s(0) * s(0) + c(1)).exactQuotient(s(0) + c(1)), std::nullopt);
  EXPECT_EQ(s(0).exactQuotient(c(2)), std::nullopt);
  EXPECT_EQ(s(0).exactQuotient(c(0)), std::nullopt);
  EXPECT_EQ(c(INT64_MIN).exactQuotient(c(-1)), std::nullopt);
  EXPECT_EQ(c(0).exactQuotient(s(0)), c(0));
  EXPECT_EQ((s(0) * s(0) * c(2) + s(0) * s(1) * c(2)).exactQuotient(s(0) + s(1)), s(0) * c(2));
}

TEST(DimExprAlgebra, WhatIsSaidNotToBeNegativeIsNot) {
  int known = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomSize source(seed);
    auto [expr, value] = source.make(3);
    if (!expr.isNonNegative())
      continue;
    ++known;
    for (int i = 0; i < 8; ++i) {
      for (int64_t &symbol : source.symbols)
        symbol = source.pick(0, 12);
      ASSERT_GE(expr.evaluate(source.symbols), 0) << "seed " << seed << ": " << expr.str({});
    }
  }
  EXPECT_GT(known, 500);
  EXPECT_TRUE((s(0) * s(1) + s(2).floorDiv(c(3))).isNonNegative());
  EXPECT_TRUE((s(0) - c(9)).mod(c(4)).isNonNegative());
  EXPECT_TRUE((s(0) - c(9)).max(c(0)).isNonNegative());
  EXPECT_TRUE((s(0) - c(9) - s(0) + c(9)).isNonNegative());
  EXPECT_FALSE((s(0) - c(9)).min(s(1)).isNonNegative());
  EXPECT_FALSE((s(0) - s(1)).isNonNegative());
}

TEST(DimExprAlgebra, BoundsHoldExactlyWhereTheSizeIsNotNegative) {
  const DimExpr exprs[] = {
      s(1) - c(3),
      c(10) - s(1) * c(3),
      (s(1) - c(3)).floorDiv(c(2)) - c(4),
      c(7) - (s(1) * c(2) + c(5)).floorDiv(c(3)) * c(2),
      (c(20) - s(1)).floorDiv(c(4)) - c(2),
      (s(1) - c(5)).ceilDiv(c(3)) - c(1),
  };
  for (const DimExpr &expr : exprs) {
    std::optional<DimExpr::Bound> bound = expr.boundOfNonNegative();
    ASSERT_TRUE(bound) << expr.str({});
    EXPECT_EQ(bound->symbol, 1u);
    for (int64_t value = 0; value < 50; ++value) {
      bool inside = bound->isLeast ? value >= bound->value : value <= bound->value;
      EXPECT_EQ(inside, expr.evaluate(std::vector<int64_t>{0, value}) >= 0)
          << expr.str({}) << " for " << value;
    }
  }
  for (const DimExpr &expr : {c(3), s(0) - s(1), s(0) * s(1) - c(2), s(0).mod(c(3)) - c(1)})
    EXPECT_FALSE(expr.boundOfNonNegative()) << expr.str({});
  errorOf(ErrorKind::InvalidArgument, [] { (c(INT64_MIN) + s(0)).boundOfNonNegative(); });
}

TEST(DimExprAlgebra, SymbolsAndCoefficientsAreFoundInsideDivisions) {
  DimExpr expr = s(2) * (s(0) * c(5) + c(3)).floorDiv(s(4)) - c(7);
  EXPECT_EQ(expr.symbols(), (std::vector<unsigned>{0, 2, 4}));
  EXPECT_TRUE(expr.hasCoefficientsWithin(7));
  EXPECT_FALSE(expr.hasCoefficientsWithin(6));
  EXPECT_FALSE(s(0).floorDiv(c(100)).hasCoefficientsWithin(99));
  EXPECT_FALSE(c(INT64_MIN).hasCoefficientsWithin(INT64_MAX));
}

TEST(DimExprAlgebra, OverflowIsRefused) {
  DimExpr large = c(int64_t(1) << 40) * s(0);
  errorOf(ErrorKind::InvalidArgument, [&] { large *large; });
  errorOf(ErrorKind::InvalidArgument, [&] { c(INT64_MAX) * s(0) + s(0); });
  errorOf(ErrorKind::InvalidArgument, [&] { c(0) - c(INT64_MIN) * s(0); });
  EXPECT_EQ((large * s(1)).exactQuotient(c(INT64_MAX) * s(0)), std::nullopt);
  // A remainder that cannot be written out next to its quotient stays one.
  DimExpr rest = s(0).mod(c(INT64_MAX)) * c(INT64_MAX);
  EXPECT_EQ((rest + s(0).floorDiv(c(INT64_MAX))).evaluate(std::vector<int64_t>{0}), 0);
}

TEST(DimExprAlgebra, ProductsOfSumsAreBounded) {
  DimExpr sum;
  for (unsigned i = 0; i < 100; ++i)
    sum = sum + s(i);
  errorOf(ErrorKind::Unsupported, [&] { sum *sum; });
  // Hundreds of quotients, each of which could belong to a remainder.
  DimExpr quotients;
  for (int64_t i = 2; i < 400; ++i)
    quotients = quotients + s(0).floorDiv(c(i)) * c(-i) + s(0);
  EXPECT_EQ(quotients.evaluate(std::vector<int64_t>{1}), 398);
  DimExpr rests = c(1);
  errorOf(ErrorKind::Unsupported, [&] {
    for (unsigned i = 0; i < 64; ++i)
      rests = rests * (s(i).mod(c(4)) + s(i).floorDiv(c(4)));
  });
}

} // namespace
} // namespace headrace
