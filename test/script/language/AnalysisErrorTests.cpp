#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

struct Mistake {
  const char *script;
  const char *message;
};

class AnalysisMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(AnalysisMistakes, AreNamed) {
  AnalysisOptions options;
  options.allFunctions = true;
  std::string message = analysisError(GetParam().script, options);
  EXPECT_EQ(message.substr(0, message.find('\n')), "test.dml:" + std::string(GetParam().message));
  // Every message shows its line and a caret.
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 2);
  EXPECT_EQ(message.back(), '^');
}

INSTANTIATE_TEST_SUITE_P(
    Names, AnalysisMistakes,
    testing::Values(
        Mistake{"y = x + 1", "1:5: variable 'x' is not defined"},
        Mistake{"X[1, 1] = 2", "1:1: variable 'X' is not defined"},
        Mistake{"a += 1", "1:1: variable 'a' is not defined"},
        Mistake{"while (go) { x = 1 }", "1:8: variable 'go' is not defined"},
        Mistake{"f = function() return (Double y) { y = z }\nz = 1",
                "1:40: variable 'z' is not defined"},
        Mistake{"f = function() return (Double y) { x = 1 }",
                "1:31: result 'y' of 'f' is never assigned"},
        Mistake{"x = frobnicate(1)", "1:5: unknown function 'frobnicate'"},
        Mistake{"x = nn::f(1)",
                "1:5: unknown namespace 'nn': expected source(\"...\") as nn in this script"},
        Mistake{"f = function() { x = 1 }\nf = function() { x = 1 }",
                "2:1: function 'f' is defined twice"},
        Mistake{"if (TRUE) { setwd(\"a\") }",
                "1:13: expected source and setwd at the script's top level only"},
        Mistake{"x = $reg", "1:5: parameter $reg is not given and has no default"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

INSTANTIATE_TEST_SUITE_P(
    Arguments, AnalysisMistakes,
    testing::Values(
        Mistake{"x = sum(1, 2)", "1:12: 'sum' takes at most 1 argument, got 2"},
        Mistake{"x = seq(1)", "1:5: 'seq' needs its argument 'to'"},
        Mistake{"x = matrix(0, rows = 1, colls = 2)",
                "1:25: 'matrix' has no parameter 'colls': it has data, rows, cols, byrow, dims, "
                "dimnames"},
        Mistake{"x = matrix(0, rows = 1, rows = 2)",
                "1:25: 'matrix' is given its argument 'rows' twice"},
        Mistake{"x = time(1)", "1:10: 'time' takes at most 0 arguments, got 1"},
        Mistake{"f = function(Double a) return (Double y) { y = a }\nx = f()",
                "2:5: 'f' needs its argument 'a'"},
        Mistake{"f = function(Double a) return (Double y) { y = a }\nx = f(1, 2)",
                "2:10: 'f' takes at most 1 argument, got 2"},
        Mistake{"f = function(Double a) return (Double y) { y = a }\nx = f(b = 2)",
                "2:7: 'f' has no parameter 'b': it has a"},
        Mistake{"f = function(Double a = b, Double b = 1) return (Double y) { y = a }\nx = f()",
                "1:25: a default may mention the parameters before it, got 'b'"},
        Mistake{"f = function(Double a = f()) return (Double y) { y = a }\nx = f()",
                "1:25: the defaults of 'f' call each other without end"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

INSTANTIATE_TEST_SUITE_P(
    Results, AnalysisMistakes,
    testing::Values(Mistake{"x = print(1)",
                            "1:1: 'print' has 0 results, got 1 variable to assign to"},
                    Mistake{"x = 1 + stop(\"a\")",
                            "1:9: 'stop' has no result: expected it as a statement alone"},
                    Mistake{"f = function() { x = 1 }\ny = 1 + f()",
                            "2:9: 'f' has no result: expected it as a statement alone"},
                    Mistake{"[a, b, c] = eigen(matrix(1, 2, 2))",
                            "1:8: 'eigen' has 2 results, got 3 variables to assign to"},
                    Mistake{"f = externalFunction(Double a) return (Double b) implemented in "
                            "(classname=\"x\")\ny = f(1)",
                            "2:5: 'externalFunction f' is understood but not executed yet"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

TEST(Undefined, VariablesOfSomePathsAreLeftToTheRun) {
  EXPECT_NO_THROW(analyzed("if (time() > 0) x = 1\ny = x"));
  EXPECT_NO_THROW(analyzed("for (i in 1:2) { if (i > 1) y = x\n x = 1 }"));
  EXPECT_NO_THROW(analyzed("while (time() > 0) { x = 1 }\ny = x"));
  EXPECT_NO_THROW(analyzed("if (exists(x)) y = 1"));
}

TEST(Undefined, InputsExist) {
  AnalysisOptions options;
  options.inputs["x"] = {};
  EXPECT_NO_THROW(analyzed("y = x", options));
}

TEST(Errors, HaveTheirKinds) {
  auto kindOf = [](const std::string &text) {
    try {
      analyzed(text);
    } catch (const Error &error) {
      return error.kind();
    }
    throw std::logic_error("expected an error");
  };
  EXPECT_EQ(kindOf("x = )"), ErrorKind::InvalidScript);
  EXPECT_EQ(kindOf("x = y"), ErrorKind::InvalidScript);
  EXPECT_EQ(kindOf("x = $y"), ErrorKind::MissingInput);
  EXPECT_EQ(errorOf([] {
              Source source("a.dml", "X = cholesky(A)");
              failNotExecuted({&source, 4}, "cholesky");
            }),
            "a.dml:1:5: 'cholesky' is understood but not executed yet\n"
            "  X = cholesky(A)\n"
            "      ^");
}

} // namespace
} // namespace headrace::script
