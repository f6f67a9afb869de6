#include "rewrite/tensor/Interpreter.h"

#include "rewrite/Fixture.h"
#include "rewrite/accelerator/HardwareOperators.h"

#include <cmath>
#include <numeric>

namespace headrace::rewrite {

class InterpreterTest : public RewriteTest {
protected:
  // x counts 0, 1, 2...; y is 1 everywhere.
  Array valueOf(const std::string &contents) {
    TermId root = term(contents);
    Inputs inputs;
    for (TermId id : terms.reachableFrom(root)) {
      OperatorCall call = callOf(terms.opOf(id), vocabulary);
      if (vocabulary.text(terms.opOf(id).name) != "tensor")
        continue;
      Array array(call.numbers);
      std::iota(array.values.begin(), array.values.end(), 0);
      if (call.names[0] == "y")
        std::ranges::fill(array.values, 1);
      inputs.emplace(call.names[0], std::move(array));
    }
    return evaluate(terms, root, allOperators(), inputs);
  }
  using Values = std::vector<double>;
};

TEST_F(InterpreterTest, MovementPutsElementsInTheirPlace) {
  EXPECT_EQ(valueOf("split[1, 2](tensor[x, 6])").shape, (Shape{3, 2}));
  EXPECT_EQ(valueOf("split[2, 2](tensor[x, 6, 5])").shape, (Shape{3, 2, 5}));
  EXPECT_EQ(valueOf("join[1](tensor[x, 4, 3, 2])").shape, (Shape{4, 6}));
  EXPECT_EQ(valueOf("join[2](tensor[x, 4, 3, 2])").shape, (Shape{12, 2}));
  EXPECT_EQ(valueOf("transpose[1, 2](tensor[x, 2, 3])").values, (Values{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(valueOf("transpose[1, 3](tensor[x, 2, 1, 3])").shape, (Shape{3, 1, 2}));
  EXPECT_EQ(valueOf("slide[1, 3, 2](tensor[x, 6])").values, (Values{0, 1, 2, 2, 3, 4}));
  EXPECT_EQ(valueOf("slide[2, 2, 1](tensor[x, 3, 2])").values, (Values{0, 1, 2, 3, 2, 3, 4, 5}));
  EXPECT_EQ(valueOf("pad[1, 1, 2](tensor[x, 2, 2])").values,
            (Values{0, 0, 1, 0, 0, 0, 2, 3, 0, 0}));
  EXPECT_EQ(valueOf("slice[2, 1, 2](tensor[x, 3, 2])").values, (Values{2, 3, 4, 5}));
  EXPECT_EQ(valueOf("concat[1](tensor[x, 2, 1], tensor[y, 2, 2])").values,
            (Values{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(valueOf("repeat[1, 2](tensor[x, 2])").values, (Values{0, 0, 1, 1}));
  EXPECT_EQ(valueOf("repeat[2, 2](tensor[x, 2])").values, (Values{0, 1, 0, 1}));
}

TEST_F(InterpreterTest, ComputationFollowsItsDefinition) {
  EXPECT_EQ(valueOf("map[neg](tensor[x, 3])").values, (Values{-0.0, -1, -2}));
  EXPECT_EQ(valueOf("map[exp2](tensor[x, 3])").values, (Values{1, 2, 4}));
  EXPECT_EQ(valueOf("zip[add](tensor[x, 3], tensor[y, 3])").values, (Values{1, 2, 3}));
  EXPECT_EQ(valueOf("reduce[add, 2](tensor[x, 2, 3])").values, (Values{3, 5, 7}));
  EXPECT_EQ(valueOf("reduce[max, 1](tensor[x, 2, 3])").values, (Values{2, 5}));
  EXPECT_EQ(valueOf("mv(tensor[x, 2, 3], tensor[y, 3])").values, (Values{3, 12}));
  EXPECT_EQ(valueOf("contract(tensor[x, 2, 3], tensor[x, 2, 3])").values, (Values{5, 14, 14, 50}));
  EXPECT_EQ(valueOf("dense(tensor[x, 2, 3], tensor[y, 3], tensor[z, 2])").values, (Values{3, 13}));
  EXPECT_EQ(valueOf("conv[1, 2](tensor[x, 1, 3, 4], tensor[y, 1, 1, 2, 2])").values,
            (Values{10, 18, 26, 34}));
  EXPECT_EQ(valueOf("maxpool[2, 2](tensor[x, 4, 5])").values, (Values{6, 8, 16, 18}));
}

TEST_F(InterpreterTest, EmptyAxesGiveEmptyOrNeutralResults) {
  EXPECT_EQ(valueOf("reduce[add, 1](tensor[x, 2, 0])").values, (Values{0, 0}));
  EXPECT_EQ(valueOf("reduce[max, 1](tensor[x, 1, 0])").values, (Values{-INFINITY}));
  EXPECT_TRUE(valueOf("contract(tensor[x, 0, 3], tensor[y, 2, 3])").values.empty());
  EXPECT_EQ(valueOf("mv(tensor[x, 2, 0], tensor[y, 0])").values, (Values{0, 0}));
}

TEST_F(InterpreterTest, OperandsThatDoNotFitAreNamed) {
  auto errorIn = [&](const std::string &contents) { return errorOf([&] { valueOf(contents); }); };
  EXPECT_EQ(errorIn("split[1, 4](tensor[x, 6])"),
            "split[1, 4]: axis 1 of [6] is not a multiple of 4");
  EXPECT_EQ(errorIn("split[1, 0](tensor[x, 6])"),
            "split[1, 0]: axis 1 of [6] is not a multiple of 0");
  EXPECT_EQ(errorIn("join[1](tensor[x, 6])"), "join[1]: there is no axis 2 in [6]");
  EXPECT_EQ(errorIn("join[-1](tensor[x, 6])"), "join[-1]: there is no axis 0 in [6]");
  EXPECT_EQ(errorIn("zip[add](tensor[x, 2], tensor[y, 3])"),
            "zip[add]: operands of shapes [2] and [3]");
  EXPECT_EQ(errorIn("map[add](tensor[x, 2])"), "map[add]: 'add' is not a function of one scalar");
  EXPECT_EQ(errorIn("reduce[sub, 1](tensor[x, 2])"),
            "reduce[sub, 1]: 'sub' is not a function of two scalars whose order does not matter");
  EXPECT_EQ(errorIn("slide[1, 7, 1](tensor[x, 6])"),
            "slide[1, 7, 1]: no window of 7 fits axis 1 of [6]");
  EXPECT_EQ(errorIn("what(tensor[x, 6])"), "what: there is no operator 'what'");
  EXPECT_EQ(
      errorIn("repeat[1, 99999999999](tensor[x, 1])"),
      "repeat[1, 99999999999]: expected at most 2^28 elements to compute, got [1, 99999999999]");
  EXPECT_EQ(errorIn("repeat[1, 99999999999](repeat[1, 99999999999](tensor[x, 1]))"),
            "repeat[1, 99999999999]: a result of negative size or with more than 2^40 elements");
  EXPECT_EQ(
      errorIn("slice[1, 9223372036854775807, 9223372036854775807](tensor[x, 6])").substr(0, 5),
      "slice");
}

TEST_F(InterpreterTest, AMissingInputIsNamed) {
  EXPECT_EQ(errorOf([&] { evaluate(terms, term("tensor[z, 2]"), allOperators(), {}); }),
            "there is no value for tensor 'z'");
  Inputs inputs;
  inputs.emplace("z", Array(Shape{3}));
  EXPECT_EQ(errorOf([&] { evaluate(terms, term("tensor[z, 2]"), allOperators(), inputs); }),
            "tensor 'z': expected shape [2], got [3]");
}

} // namespace headrace::rewrite
