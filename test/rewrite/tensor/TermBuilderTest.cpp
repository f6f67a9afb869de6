#include "rewrite/accelerator/TermBuilder.h"

#include "rewrite/Fixture.h"
#include "rewrite/accelerator/HardwareOperators.h"
#include "rewrite/tensor/Interpreter.h"

#include <numeric>

namespace headrace::rewrite {

class TermBuilderTest : public RewriteTest {
protected:
  TermBuilder builder{terms};

  /// The values of a term of one input x, whose elements are 0, 1, 2, ...
  std::vector<double> valuesOf(const ShapedTerm &term, const Shape &shape) {
    Array x(shape);
    std::iota(x.values.begin(), x.values.end(), 0);
    Inputs inputs;
    inputs.emplace("x", std::move(x));
    Array result = evaluate(terms, term.id, allOperators(), inputs);
    EXPECT_EQ(result.shape, term.shape);
    return result.values;
  }
  ShapedTerm x(const Shape &shape) { return builder.input("x", shape); }
};

TEST_F(TermBuilderTest, AReshapeKeepsTheOrderOfElements) {
  std::vector<std::pair<Shape, Shape>> cases = {
      {{2, 3, 4}, {24}},   {{24}, {2, 3, 4}},      {{2, 3, 4}, {6, 4}}, {{2, 3, 4}, {4, 6}},
      {{2, 6}, {1, 3, 4}}, {{3, 1, 2}, {6, 1, 1}}, {{1, 1, 5}, {5}},    {{5}, {1, 5, 1}},
      {{6, 2}, {2, 3, 2}}, {{1}, {1, 1}},          {{4, 1}, {1, 4}},    {{}, {1, 1}}};
  for (const auto &[from, to] : cases) {
    ShapedTerm term = builder.reshaped(x(from), to);
    EXPECT_EQ(term.shape, to);
    std::vector<double> values = valuesOf(term, from);
    for (size_t i = 0; i < values.size(); ++i)
      EXPECT_EQ(values[i], static_cast<double>(i)) << textOf(from) << " to " << textOf(to);
  }
}

TEST_F(TermBuilderTest, NoMovementMakesAScalar) {
  EXPECT_EQ(errorOf([&] { builder.reshaped(x({1}), {}); }),
            "no data movement makes a scalar of [1]");
}

TEST_F(TermBuilderTest, APermutationPutsDimensionsInOrder) {
  ShapedTerm term = builder.permuted(x({2, 3, 4}), {2, 0, 1});
  EXPECT_EQ(term.shape, (Shape{4, 2, 3}));
  std::vector<double> values = valuesOf(term, {2, 3, 4});
  for (size_t i = 0; i < 4; ++i)
    for (size_t j = 0; j < 2; ++j)
      for (size_t k = 0; k < 3; ++k)
        EXPECT_EQ(values[(i * 2 + j) * 3 + k], static_cast<double>((j * 3 + k) * 4 + i));
}

TEST_F(TermBuilderTest, ABroadcastIsThatOfNumPy) {
  EXPECT_EQ(valuesOf(builder.broadcast(x({2}), {3, 2}), {2}),
            (std::vector<double>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(valuesOf(builder.broadcast(x({2, 1}), {2, 3}), {2, 1}),
            (std::vector<double>{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(valuesOf(builder.broadcast(x({2, 1, 1}), {2, 1, 2}), {2, 1, 1}),
            (std::vector<double>{0, 0, 1, 1}));
  EXPECT_EQ(valuesOf(builder.broadcast(x({1, 1}), {2, 2}), {1, 1}),
            (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(valuesOf(builder.broadcast(x({}), {2, 2}), {}), (std::vector<double>{0, 0, 0, 0}));
  EXPECT_EQ(valuesOf(builder.broadcast(x({2, 3}), {2, 3}), {2, 3}),
            (std::vector<double>{0, 1, 2, 3, 4, 5}));
}

TEST_F(TermBuilderTest, ABroadcastTakesTensorsWithoutTheirDimensionsOfOne) {
  ShapedTerm bias = builder.broadcast(x({2}), {2, 1, 1}, {2, 2, 2});
  EXPECT_EQ(print(terms, bias.id), "repeat[1, 2](repeat[1, 2](tensor[x, 2]))");
  EXPECT_EQ(valuesOf(bias, {2}), (std::vector<double>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST_F(TermBuilderTest, OperandsThatDoNotFitAreRefused) {
  EXPECT_NE(errorOf([&] { builder.apply("mv", {}, {x({2, 3}), x({4})}); }), "");
  EXPECT_NE(errorOf([&] { builder.function("add", {x({2}), x({3})}); }), "");
}

} // namespace headrace::rewrite
