#include "runtime/tensor/DimExpr.h"

#include "runtime/Helpers.h"
#include "runtime/tensor/RandomSize.h"

namespace headrace {
namespace {

using namespace test;

DimExpr c(int64_t value) { return DimExpr::constant(value); }
DimExpr s(unsigned index) { return DimExpr::symbol(index); }

std::string print(const DimExpr &expr) {
  return expr.str(std::vector<std::string>{"batch", "seq"});
}

TEST(DimExpr, ConstantsFold) {
  EXPECT_EQ((c(2) + c(3) * c(4) - c(1)).asConstant(), 13);
  EXPECT_EQ(c(-7).floorDiv(c(2)).asConstant(), -4);
  EXPECT_EQ(c(7).floorDiv(c(-2)).asConstant(), -4);
  EXPECT_EQ(c(-7).mod(c(2)).asConstant(), 1);
  EXPECT_EQ(c(7).ceilDiv(c(2)).asConstant(), 4);
  EXPECT_EQ(c(7).ceilDiv(c(-2)).asConstant(), -3);
  EXPECT_EQ(c(7).max(c(9)).asConstant(), 9);
  EXPECT_EQ(c(7).min(c(9)).asConstant(), 7);
  EXPECT_EQ(DimExpr().asConstant(), 0);
  EXPECT_EQ((s(0) - s(0)).asConstant(), 0);
}

TEST(DimExpr, EqualPolynomialsAreEqual) {
  EXPECT_EQ(s(0) + c(2) - c(3) + c(1), s(0));
  EXPECT_EQ(s(0) * s(1), s(1) * s(0));
  EXPECT_EQ((s(0) + c(1)) * (s(0) - c(1)), s(0) * s(0) - c(1));
  EXPECT_EQ((c(4) * s(0) + c(2)).floorDiv(c(2)), c(2) * s(0) + c(1));
  EXPECT_EQ((s(0) * c(12) * s(1)).floorDiv(s(0) * c(4)), c(3) * s(1));
  EXPECT_EQ(((s(0) + c(2)) * c(3)).floorDiv(s(0) + c(2)), c(3));
  EXPECT_EQ(s(0).floorDiv(c(2)).floorDiv(c(3)), s(0).floorDiv(c(6)));
  EXPECT_EQ((c(6) * s(0) + c(5)).mod(c(3)), c(2));
  EXPECT_EQ(s(0).max(s(1)), s(1).max(s(0)));
  EXPECT_EQ((s(0) + c(3)).max(s(0)), s(0) + c(3));
  EXPECT_EQ((s(0) + c(3)).min(s(0)), s(0));
  EXPECT_FALSE(s(0) == s(1));
  EXPECT_FALSE(s(0).max(s(1)) == s(0).min(s(1)));
}

TEST(DimExpr, KnowsPlainSymbols) {
  EXPECT_EQ(s(3).asSymbol(), 3u);
  EXPECT_EQ((s(3) + c(1)).asSymbol(), std::nullopt);
  EXPECT_EQ((s(3) * c(2)).asSymbol(), std::nullopt);
  EXPECT_EQ((s(3) * s(3)).asSymbol(), std::nullopt);
  EXPECT_EQ(c(3).asSymbol(), std::nullopt);
  EXPECT_TRUE((s(0) + s(1).floorDiv(s(2))).dependsOn(2));
  EXPECT_FALSE((s(0) + s(1)).dependsOn(2));
}

TEST(DimExpr, Prints) {
  EXPECT_EQ(print(c(0)), "0");
  EXPECT_EQ(print(c(-4)), "-4");
  EXPECT_EQ(print(s(0)), "batch");
  EXPECT_EQ(print(s(7)), "s7");
  EXPECT_EQ(print(c(2) * s(0) + c(3)), "2*batch + 3");
  EXPECT_EQ(print(s(0) * s(1) - c(2) * s(1) - c(1)), "batch*seq - 2*seq - 1");
  EXPECT_EQ(print(c(0) - s(1)), "-seq");
  EXPECT_EQ(print((s(0) + c(1)).floorDiv(c(2)) + c(1)), "(batch + 1) // 2 + 1");
  EXPECT_EQ(print(c(2) * s(0).mod(c(4))), "2*(batch % 4)");
  EXPECT_EQ(print(s(0).max(s(1) + c(2))), "max(batch, seq + 2)");
}

TEST(DimExpr, ErrorsAreTheUsers) {
  int64_t big[] = {INT64_MAX, 0};
  errorOf(ErrorKind::InvalidArgument, [&] { (s(0) + c(1)).evaluate(big); });
  errorOf(ErrorKind::InvalidArgument, [&] { (s(0) * s(0)).evaluate(big); });
  errorOf(ErrorKind::InvalidArgument, [&] { s(0).floorDiv(s(1)).evaluate(big); });
  errorOf(ErrorKind::InvalidArgument, [&] { s(0).mod(c(0)).evaluate(big); });
  errorOf(ErrorKind::InvalidArgument, [] { c(INT64_MAX) + c(1); });
  errorOf(ErrorKind::InvalidArgument, [] { c(INT64_MIN).floorDiv(c(-1)); });
  EXPECT_THROW(s(2).evaluate(big), InternalError);
}

TEST(DimExpr, GrowthIsBounded) {
  // Each round doubles the tree, though the nodes are shared.
  errorOf(ErrorKind::Unsupported, [] {
    DimExpr expr = s(0);
    for (int i = 0; i < 64; ++i)
      expr = expr.max(expr.floorDiv(s(1)));
  });
}

TEST(DimExpr, NormalFormKeepsTheValue) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    RandomSize source(seed);
    auto [expr, value] = source.make(4);
    ASSERT_EQ(expr.evaluate(source.symbols), value) << "seed " << seed << ": " << print(expr);
  }
}

TEST(DimExprParse, ReadsWhatStrWrites) {
  DimExpr a = DimExpr::symbol(0), b = DimExpr::symbol(1), two = DimExpr::constant(2);
  DimExpr three = DimExpr::constant(3);
  const DimExpr exprs[] = {
      DimExpr(),
      DimExpr::constant(INT64_MIN),
      DimExpr::constant(-7),
      a,
      DimExpr() - a,
      a * b * two - three,
      (a - three).floorDiv(two) + DimExpr::constant(1),
      (a * b).mod(DimExpr::constant(-5)),
      two * a.floorDiv(b) * (a + b).mod(three),
      (a + b).max(two).min(a * a),
      (DimExpr() - (a.max(b) - two)).ceilDiv(a.floorDiv(three)),
  };
  for (const DimExpr &expr : exprs)
    EXPECT_EQ(DimExpr::parse(expr.str({}), 2), expr) << expr.str({});
}

TEST(DimExprParse, RefusesTheRest) {
  for (const char *text : {"", "s", "s2", "s-1", "s99999999999", "1 +", "(s0", "s0)", "max(s0)",
                           "2 s0", "x", "--", "9223372036854775808", "s0 ^ 2", "min(s0, )"})
    EXPECT_THROW(DimExpr::parse(text, 2), Error) << text;
  EXPECT_THROW(DimExpr::parse("s0 // 0", 1).evaluate(std::vector<int64_t>{1}), Error);
  EXPECT_THROW(DimExpr::parse(std::string(100000, '('), 1), Error);
  EXPECT_THROW(DimExpr::parse(std::string(100000, '-') + "s0", 1), Error);
}

} // namespace
} // namespace headrace
