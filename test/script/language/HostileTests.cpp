#include "ScriptHelpers.h"
#include <random>

namespace headrace::script {
namespace {

std::string repeated(const std::string &text, size_t count) {
  std::string result;
  for (size_t i = 0; i < count; ++i)
    result += text;
  return result;
}

std::string firstLine(const std::string &text) { return text.substr(0, text.find('\n')); }

TEST(Hostile, DepthIsBounded) {
  constexpr size_t many = 100000;
  EXPECT_EQ(firstLine(parseError("x = " + repeated("(", many))),
            "test.dml:1:261: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = " + repeated("-", many) + "1")),
            "test.dml:1:261: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = " + repeated("f(", many))),
            "test.dml:1:517: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = " + repeated("X[", many))),
            "test.dml:1:517: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = " + repeated("[", many))),
            "test.dml:1:261: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = " + repeated("2 ^ ", many) + "1")),
            "test.dml:1:1029: expression nested more than 256 deep");
  EXPECT_EQ(firstLine(parseError("x = 1" + repeated(" + 1", many))),
            "test.dml:1:4003: expression with more than 1000 operators in a chain");
  EXPECT_EQ(firstLine(parseError(repeated("if (a) ", many) + "x = 1")),
            "test.dml:1:1401: statements nested more than 200 deep");
  EXPECT_EQ(firstLine(parseError(repeated("while (a) {", many))),
            "test.dml:1:2201: statements nested more than 200 deep");
  EXPECT_EQ(firstLine(parseError("if (a) x = 1" + repeated(" else if (a) x = 1", many))),
            "test.dml:1:3590: statements nested more than 200 deep");
}

TEST(Hostile, WhatIsAllowedIsAlsoAnalyzed) {
  std::string deep = "x = " + repeated("(1 + ", 127) + "1" + repeated(")", 127);
  EXPECT_NO_THROW(analyzed(deep));
  EXPECT_NO_THROW(analyzed("x = 1" + repeated(" + 1", 998)));
  EXPECT_NO_THROW(
      analyzed("x = 0\n" + repeated("while (x < 1) {", 190) + "x = x + 1" + repeated("}", 190)));
}

TEST(Hostile, LongLinesAndManyStatements) {
  EXPECT_EQ(firstLine(parseError("x = \"" + std::string(1 << 20, 'a') + "\" )")),
            "test.dml:1:1048584: expected a statement, got ')'");
  EXPECT_LT(parseError(std::string(1 << 20, 'a')).size(), 1000U);
  std::string many;
  for (int i = 0; i < 4000; ++i)
    many += "x" + std::to_string(i) + " = " + std::to_string(i) + "\nif (x0 > 1) y = 1\n";
  AnalysisOptions options;
  options.keepAll = true;
  EXPECT_EQ(analyzed(many, options).main.body.size(), 8000U);
}

TEST(Hostile, NotAScript) {
  EXPECT_EQ(errorOf([] { Source("a.dml", std::string(17 << 20, ' ')); }),
            "a.dml: expected a script of at most 16777216 bytes, got 17825792");
  EXPECT_EQ(errorOf([] { Source("a.dml", std::string("ab\0c", 4)); }),
            "a.dml: expected a script, got a zero byte at byte 2");
  EXPECT_EQ(parseError("x = 1\n\x1b[31m"), "test.dml:2:1: unexpected character outside ASCII\n"
                                           "  ?[31m\n"
                                           "  ^");
}

/// Tokens in random order: an error or a tree, and then a program or an error, but no crash.
TEST(Hostile, RandomTokens) {
  const std::vector<std::string> tokens = {"x",      "X",
                                           "f",      "nn::g",
                                           "sum",    "1",
                                           "2.5",    "\"s\"",
                                           "TRUE",   "$a",
                                           "(",      ")",
                                           "[",      "]",
                                           "{",      "}",
                                           ",",      ";",
                                           ":",      "=",
                                           "<-",     "+=",
                                           "+",      "-",
                                           "*",      "/",
                                           "^",      "%*%",
                                           "%%",     "<",
                                           "==",     "!",
                                           "&",      "|",
                                           "if",     "else",
                                           "while",  "for",
                                           "parfor", "in",
                                           "ifdef",  "function",
                                           "return", "source",
                                           "as",     "Matrix[Double]",
                                           "Double", "\n",
                                           "#c\n",   "."};
  std::mt19937 random(20240607);
  size_t trees = 0, programs = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string text = round % 2 ? "" : "x = ";
    size_t length = 1 + random() % 24;
    for (size_t i = 0; i < length; ++i)
      text += tokens[random() % tokens.size()] + (random() % 8 ? " " : "");
    try {
      Script script = parsed(text);
      ++trees;
      std::string full = print(script, Parentheses::Full);
      EXPECT_EQ(print(parsed(print(script)), Parentheses::Full), full) << text;
      analyze(std::move(script));
      ++programs;
    } catch (const Error &error) {
      EXPECT_EQ(std::string(error.what()).back(), '^') << text << "\n" << error.what();
    }
  }
  EXPECT_GT(trees, 100U);
  EXPECT_GT(programs, 10U);
}

/// Random bytes, mostly printable.
TEST(Hostile, RandomBytes) {
  std::mt19937 random(7);
  for (int round = 0; round < 5000; ++round) {
    std::string text;
    for (size_t i = 0, length = random() % 60; i < length; ++i)
      text += static_cast<char>(random() % 16 ? 32 + random() % 95 : 1 + random() % 255);
    try {
      analyzed(text);
    } catch (const Error &) {
    }
  }
}

/// Random trees survive printing and parsing.
class RandomExpression {
public:
  explicit RandomExpression(unsigned seed) : random(seed) {}
  std::string make(int depth) {
    static const std::vector<std::string> binary = {"+", "-", "*",  "/",  "^",  "%*%", "%%", "%/%",
                                                    "<", ">", "<=", ">=", "==", "!=",  "&",  "|"};
    switch (depth == 0 ? random() % 2 : random() % 7) {
    case 0:
      return "a" + std::to_string(random() % 3);
    case 1:
      return std::to_string(random() % 100);
    case 2:
      return "(" + std::string(1, "-+!"[random() % 3]) + make(depth - 1) + ")";
    case 3:
      return "f(" + make(depth - 1) + ", k = " + make(depth - 1) + ")";
    case 4:
      return "X[" + make(depth - 1) + ":" + make(depth - 1) + ", ]";
    default:
      return "(" + make(depth - 1) + " " + binary[random() % binary.size()] + " " +
             make(depth - 1) + ")";
    }
  }

private:
  std::mt19937 random;
};

TEST(Printer, RandomTreesSurvive) {
  RandomExpression expressions(3);
  for (int round = 0; round < 2000; ++round) {
    std::string text = expressions.make(6);
    Script script = parsed("x = " + text);
    EXPECT_EQ(print(parsed(print(script)), Parentheses::Full), print(script, Parentheses::Full));
  }
}

} // namespace
} // namespace headrace::script
