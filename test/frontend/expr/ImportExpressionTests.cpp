// Expressions as programs: which operators they become, and what they compute.
#include "driver/programs/ExpressionModel.h"
#include "runtime/system/Error.h"

#include <gtest/gtest.h>

namespace headrace::expr {
namespace {

bool has(const std::string &text, const char *part) { return text.find(part) != text.npos; }

Tensor counted(Shape shape) {
  Tensor tensor = Tensor::allocate(DType::F32, std::move(shape));
  for (int64_t i = 0; i < tensor.elements(); ++i)
    tensor.as<float>()[i] = static_cast<float>(i % 7) - 2;
  return tensor;
}

/// The compiled program's result, which must be the reference's.
std::vector<float> run(const Stage &stage, std::vector<Tensor> inputs) {
  auto model = makeModel({stage}, "test");
  Tensor found = model->run(inputs).front(), expected = model->reference(inputs).front();
  EXPECT_EQ(found.shape(), expected.shape());
  std::vector<float> values(found.as<float>(), found.as<float>() + found.elements());
  for (int64_t i = 0; i < found.elements(); ++i)
    EXPECT_NEAR(values[i], expected.as<float>()[i], 1e-4);
  return values;
}

std::string imported(const Stage &stage) { return makeModel({stage}, "test")->ir("import"); }

class ImportExpression : public testing::Test {
protected:
  Expr n = var("n"), m = var("m"), k = var("k");
  Stage a = placeholder({n, k}, DType::F32, "A"), b = placeholder({k, m}, DType::F32, "B");
  Axis r = axis(k, "r");
};

TEST_F(ImportExpression, AMatrixProductIsAContraction) {
  Stage c =
      compute({n, m}, [&](auto i) { return sum(a(i[0], r) * b(r, i[1]), {r}); }, "C", {"i", "j"});
  std::string text = imported(c);
  EXPECT_TRUE(has(text, "hr.contract"));
  EXPECT_TRUE(has(text, "hr.axes = [\"i\", \"j\", \"r\"], hr.stage = \"C\""));
  std::vector<float> values = run(c, {counted({3, 4}), counted({4, 2})});
  EXPECT_EQ(values[0], -2 * -2 + -1 * 0 + 0 * 2 + 1 * 4);
}

TEST_F(ImportExpression, OperatorsAreRecognised) {
  auto transposed = compute({k, n}, [&](auto i) { return a(i[1], i[0]); }, "T");
  EXPECT_TRUE(has(imported(transposed), "hr.transpose"));
  auto total = compute({n}, [&](auto i) { return maximum(a(i[0], r), {r}); }, "S");
  EXPECT_TRUE(has(imported(total), "hr.reduce"));
  auto plain = compute({n, k}, [&](auto i) { return exp(a(i[0], i[1])) * 2; }, "M");
  EXPECT_TRUE(has(imported(plain), "hr.map"));
  auto general = compute({n}, [&](auto i) { return sum(exp(a(i[0], r)), {r}); }, "G");
  EXPECT_TRUE(has(imported(general), "hr.compute"));
}

TEST_F(ImportExpression, OffsetsAreSlicesAndBoundariesArePadding) {
  Stage x = placeholder({n}, DType::F32, "X");
  Stage inner = compute({n - 1}, [&](auto i) { return x(i[0] + 1) - x(i[0]); }, "D");
  EXPECT_TRUE(has(imported(inner), "hr.slice"));
  EXPECT_FALSE(has(imported(inner), "hr.pad"));
  EXPECT_EQ(run(inner, {counted({6})}), (std::vector<float>{1, 1, 1, 1, 1}));
  Stage edge =
      compute({n}, [&](auto i) { return x(i[0]) - select(i[0] > 0, x(i[0] - 1), 0.0); }, "E");
  // The condition says no more than the padding does.
  EXPECT_TRUE(has(imported(edge), "hr.pad"));
  EXPECT_FALSE(has(imported(edge), "hr.index"));
  EXPECT_EQ(run(edge, {counted({4})}), (std::vector<float>{-2, 1, 1, 1}));
  Stage odd = compute({n}, [&](auto i) { return select(i[0] > 1, x(i[0] - 1), 0.0); }, "O");
  EXPECT_TRUE(has(imported(odd), "hr.index"));
  EXPECT_EQ(run(odd, {counted({4})}), (std::vector<float>{0, 0, -1, 0}));
}

TEST_F(ImportExpression, OtherIndicesAreReadPointByPoint) {
  Stage x = placeholder({n}, DType::F32, "X");
  Stage twice = compute({2 * n}, [&](auto i) { return x(floorDiv(i[0], 2)); }, "T");
  EXPECT_TRUE(has(imported(twice), "hr.element"));
  EXPECT_EQ(run(twice, {counted({3})}), (std::vector<float>{-2, -2, -1, -1, 0, 0}));
}

TEST_F(ImportExpression, ReductionsOfAnyKindAndPlace) {
  Reducer larger{[](const Expr &x, const Expr &y) { return select(x > y, x, y); }, -1e9};
  Stage most = compute({n}, [&](auto i) { return reduce(larger, a(i[0], r), {r}); }, "M");
  EXPECT_EQ(run(most, {counted({2, 5})}), (std::vector<float>{2, 4}));
  Stage mean = compute({n}, [&](auto i) { return sum(a(i[0], r), {r}) / k + 1; }, "mean");
  EXPECT_TRUE(has(imported(mean), "hr.stage = \"mean.sum\""));
  EXPECT_EQ(run(mean, {counted({1, 5})}), (std::vector<float>{1}));
}

TEST_F(ImportExpression, EmptySizesGiveWhatNothingGives) {
  Stage total = compute({n}, [&](auto i) { return sum(exp(a(i[0], r)), {r}); }, "S");
  EXPECT_EQ(run(total, {counted({2, 0})}), (std::vector<float>{0, 0}));
  EXPECT_TRUE(run(total, {counted({0, 3})}).empty());
}

TEST_F(ImportExpression, MistakesNameStageAndExpression) {
  auto errorOf = [](const Stage &stage) -> std::string {
    try {
      makeModel({stage}, "test");
    } catch (const Error &error) {
      return error.what();
    }
    return "no error";
  };
  Stage x = placeholder({n}, DType::F32, "X");
  EXPECT_EQ(errorOf(compute({n}, [&](auto i) { return x(i[0] + 1); }, "C", {"i"})),
            "stage 'C': X[i + 1] reads positions 1 to n of dimension 0: expected positions 0 to "
            "n - 1, or a condition around it (hr.select) that keeps it there");
  EXPECT_EQ(errorOf(compute({n}, [&](auto i) { return a(i[0], r); }, "C", {"i"})),
            "stage 'C': axis 'r' is used outside its reduction in A[i, r]");
  EXPECT_EQ(errorOf(compute(
                {var("q")}, [&](auto i) { return i[0]; }, "C")),
            "size 'q': expected a placeholder with a dimension of this size, got none");
  EXPECT_EQ(errorOf(x), "output 'X': expected a computed tensor, got a placeholder");
}

} // namespace
} // namespace headrace::expr
