// Expressions by themselves: types, text, what is rejected.
#include "frontend/expr/Stage.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>

namespace headrace::expr {
namespace {

template <class Function> std::string errorOf(Function function) {
  try {
    function();
  } catch (const Error &error) {
    return error.what();
  }
  return "no error";
}

class ExprTest : public testing::Test {
protected:
  Expr n = var("n");
  Stage f = placeholder({n}, DType::F32, "F"), g = placeholder({n}, DType::F64, "G");
  Stage i = placeholder({n}, DType::I32, "I"), b = placeholder({n}, DType::Bool, "B");
  Stage h = placeholder({n}, DType::F16, "H"), l = placeholder({n}, DType::BF16, "L");
};

TEST_F(ExprTest, NumbersPositionsAndSizesTakeTheOthersType) {
  Axis r = axis(n, "r");
  EXPECT_EQ((f(0) + 1).dtype(), DType::F32);
  EXPECT_EQ((f(0) * r + n).dtype(), DType::F32);
  EXPECT_EQ((i(0) + 1).dtype(), DType::I32);
  EXPECT_EQ((h(0) * 0.5).dtype(), DType::F16);
  EXPECT_EQ((Expr(r) * 2 + n).dtype(), DType::I64);
  EXPECT_EQ((Expr(r) * 0.5).dtype(), DType::F32);
}

TEST_F(ExprTest, TypesArePromoted) {
  EXPECT_EQ((f(0) + g(0)).dtype(), DType::F64);
  EXPECT_EQ((i(0) * f(0)).dtype(), DType::F32);
  EXPECT_EQ((h(0) + l(0)).dtype(), DType::F32);
  EXPECT_EQ((i(0) * 0.5).dtype(), DType::F64);
  EXPECT_EQ((i(0) / 2).dtype(), DType::F64);
  EXPECT_EQ((b(0) + b(0)).dtype(), DType::I64);
  EXPECT_EQ(exp(i(0)).dtype(), DType::F64);
  EXPECT_EQ((f(0) < 1).dtype(), DType::Bool);
  EXPECT_EQ(select(b(0), i(0), 2.5).dtype(), DType::F64);
  EXPECT_EQ(sum(b(axis(n)), {axis(n)}).dtype(), DType::I64);
}

TEST_F(ExprTest, TextIsWhatTheUserWrote) {
  Axis r = axis(n, "r");
  EXPECT_EQ(((f(r) + 1) * 2).text(), "(F[r] + 1.0) * 2.0");
  EXPECT_EQ((f(r) - (f(0) - 1)).text(), "F[r] - (F[0] - 1.0)");
  EXPECT_EQ(sum(f(r) * f(n - 1 - r), {r}).text(), "sum(F[r] * F[n - 1 - r], r)");
  EXPECT_EQ(select(all({Expr(r) > 0, b(r)}), -f(r), 0.0).text(),
            "select(r > 0 & B[r], -F[r], 0.0)");
}

TEST_F(ExprTest, SharedPartsDoNotMakeTextEndless) {
  Expr x = f(0);
  for (int k = 0; k < 100; ++k)
    x = x + x;
  EXPECT_LT(x.text().size(), 200u);
}

TEST_F(ExprTest, DeepExpressionsAreRefused) {
  EXPECT_EQ(errorOf([&] {
              Expr x = f(0);
              for (int k = 0; k < 100000; ++k)
                x = x + 1;
            }),
            "expression: expected at most 1000 operators inside one another; use several stages");
}

TEST_F(ExprTest, MistakesAreNamed) {
  Axis r = axis(n, "r");
  EXPECT_EQ(errorOf([&] { f(0, 1); }), "tensor 'F': expected 1 indices, got 2");
  EXPECT_EQ(errorOf([&] { f(0.5); }),
            "tensor 'F': expected integers as indices, got 0.5 of type f32");
  EXPECT_EQ(errorOf([&] { select(f(0), 1, 2); }),
            "operator 'select': expected conditions (bool), got f32 in F[0]");
  EXPECT_EQ(
      errorOf([&] { placeholder({n}, DType::U8, "U"); }),
      "placeholder 'U': expected one of bool, i8, i16, i32, i64, f16, bf16, f32, f64, got u8");
  EXPECT_EQ(errorOf([&] { placeholder({Expr(-1)}, DType::F32, "U"); }),
            "placeholder 'U': expected sizes of 0 or more, got -1");
  EXPECT_EQ(errorOf([&] { placeholder({f(0)}, DType::F32, "U"); }),
            "placeholder 'U': expected sizes made of integers and hr.var, got F[0]");
  EXPECT_EQ(errorOf([&] { sum(f(r), {}); }),
            "reduction of F[r]: expected an axis to reduce along, got none");
  EXPECT_EQ(errorOf([&] { placeholder({n}, DType::I8, "S")(0) + 300; }),
            "expression: expected a number of type i8, got 300");
}

} // namespace
} // namespace headrace::expr
