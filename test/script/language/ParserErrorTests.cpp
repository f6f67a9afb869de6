#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

TEST(ParserErrors, ShowPlaceLineAndCaret) {
  EXPECT_EQ(parseError("a = 1\nx = a * )\n"), "test.dml:2:9: expected an expression, got ')'\n"
                                              "  x = a * )\n"
                                              "          ^");
  EXPECT_EQ(parseError("\tx = = 2"), "test.dml:1:6: expected an expression, got '='\n"
                                     "  \tx = = 2\n"
                                     "  \t    ^");
  // A column is a character, not a byte.
  EXPECT_EQ(parseError("x = \"é\" )"), "test.dml:1:9: expected a statement, got ')'\n"
                                       "  x = \"é\" )\n"
                                       "          ^");
}

TEST(ParserErrors, LongLinesAreCut) {
  std::string message = parseError("x = " + std::string(200, 'a') + " ) " + std::string(200, 'b'));
  EXPECT_EQ(message, "test.dml:1:206: expected a statement, got ')'\n"
                     "  ..." +
                         std::string(59, 'a') + " ) " + std::string(58, 'b') + "...\n  " +
                         std::string(63, ' ') + "^");
}

struct Mistake {
  const char *script;
  const char *message; ///< the first line, without the file's name
};

class ParserMistakes : public testing::TestWithParam<Mistake> {};

TEST_P(ParserMistakes, AreNamed) {
  std::string message = parseError(GetParam().script);
  EXPECT_EQ(message.substr(0, message.find('\n')), "test.dml:" + std::string(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Lexical, ParserMistakes,
    testing::Values(
        Mistake{"x = @", "1:5: unexpected character '@'"},
        Mistake{"x = é", "1:5: unexpected character outside ASCII"},
        Mistake{"x = \"abc", "1:5: the string that begins here has no end: expected \""},
        Mistake{"x = \"a\\qb\"",
                "1:7: expected one of \\b \\t \\n \\f \\r \\\" \\' \\\\ in a string"},
        Mistake{"x = 1 /* never", "1:7: the comment that begins here has no end: expected '*/'"},
        Mistake{"x = 1e+", "1:6: expected digits after the exponent of a number"},
        Mistake{"x = 2fast", "1:5: expected a number, got '2f': a name begins with a letter"},
        Mistake{"x = 9223372036854775808",
                "1:5: expected an integer below 2^63, got 9223372036854775808"},
        Mistake{"x = $", "1:5: expected a parameter's name or number after '$'"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

INSTANTIATE_TEST_SUITE_P(
    Syntax, ParserMistakes,
    testing::Values(
        Mistake{"x", "1:2: expected '=' after 'x', got the end of the script"},
        Mistake{"x = ", "1:5: expected an expression, got the end of the script"},
        Mistake{"x = (1 + 2", "1:11: expected ')' to close the parenthesis at test.dml:1:5, got "
                              "the end of the script"},
        Mistake{"x = f(1, 2", "1:11: expected ')' after the arguments, got the end of the script"},
        Mistake{"x = X[1, 2", "1:11: expected ']' after the index, got the end of the script"},
        Mistake{"x = X[1, 2, 3]", "1:11: expected ']' after the index, got ','"},
        Mistake{"x = [1, 2",
                "1:10: expected ']' after the values in brackets, got the end of the script"},
        Mistake{"if a { }", "1:4: expected '(' after if, got 'a'"},
        Mistake{"if (a { }", "1:7: expected ')' after the condition of if, got '{'"},
        Mistake{"if (a <-1) x = 1", "1:7: expected ')' after the condition of if, got '<-': a "
                                    "comparison with a negative value is 'a < -b'"},
        Mistake{"x = (a <-1)", "1:8: expected ')' to close the parenthesis at test.dml:1:5, got "
                               "'<-': a comparison with a negative value is 'a < -b'"},
        Mistake{"while (a) {\n x = 1", "1:11: the block that begins here has no end: expected '}'"},
        Mistake{"if (a) ; x = 1", "1:8: expected a statement, got ';'"},
        Mistake{"else x = 1", "1:1: expected a statement, got 'else'"},
        Mistake{"for (1 in 1:2) {}", "1:6: expected the variable of the loop, got '1'"},
        Mistake{"for (i of 1:2) {}", "1:8: expected 'in' after the variable of the loop, got 'of'"},
        Mistake{"for (i in X) {}",
                "1:11: expected a range, as in for (i in 1:n) or for (i in seq(1, n, 2))"},
        Mistake{"parfor (i in 1:2, check) {}", "1:24: expected '=' after 'check', got ')'"},
        Mistake{"[a, b] = 3", "1:10: expected a function call: only a call has several results"},
        Mistake{"[a, b] f(x)", "1:8: expected '=' after the variables to assign to, got 'f'"},
        Mistake{"[1] = f(x)", "1:2: expected a variable to assign to, got '1'"},
        Mistake{"f(x) + 1", "1:6: expected a statement, got an expression whose value is not used"},
        Mistake{"nn::x = 1", "1:1: expected a variable to assign to, got 'nn::x'"},
        Mistake{"x = nn::y", "1:10: expected '(' after 'nn::y': only functions have a namespace, "
                             "got the end of the script"},
        Mistake{"x = ifdef(a, 1)", "1:11: expected a parameter such as $name in ifdef, got 'a'"},
        Mistake{"source(x) as y", "1:8: expected a file's name as a string, got 'x'"},
        Mistake{"source(\"x.dml\")",
                "1:16: expected 'as' after source(...), got the end of the script"},
        Mistake{"setwd(3)", "1:7: expected a directory's name as a string, got '3'"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

INSTANTIATE_TEST_SUITE_P(
    Functions, ParserMistakes,
    testing::Values(
        Mistake{"f = function(X) {}", "1:14: expected a type (Double, Integer, Boolean, String, "
                                      "Matrix[Double], Frame[String], List[Unknown]), got 'X'"},
        Mistake{"f = function(Vector[Double] X) {}",
                "1:14: expected Matrix, Frame, List, Tensor or Scalar, got 'Vector'"},
        Mistake{"f = function(Double) {}", "1:20: expected a name after the type, got ')'"},
        Mistake{"f = function(Double x, Double x) {}", "1:31: 'x' is declared twice"},
        Mistake{"f = function(Double x) x = 1",
                "1:24: expected '{' before the body of 'f', got 'x'"},
        Mistake{"if (a) { f = function() {} }",
                "1:10: expected a function at the script's top level, got 'f' inside a block"},
        Mistake{"f = externalFunction(Double x) {}",
                "1:32: expected 'implemented' after the declaration of an external function, got "
                "'{'"}),
    [](const auto &info) { return "Case" + std::to_string(info.index); });

} // namespace
} // namespace headrace::script
