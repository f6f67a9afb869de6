#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

/// The script as it is printed; the print must parse to the same tree.
std::string normalized(const std::string &text) {
  Script script = parsed(text);
  std::string printed = print(script);
  Script again = parsed(printed);
  EXPECT_EQ(print(script, Parentheses::Full), print(again, Parentheses::Full)) << printed;
  return printed;
}

TEST(Precedence, OperatorsBindAsTheLanguageSays) {
  EXPECT_EQ(grouped("a + b * c"), "(a + (b * c))");
  EXPECT_EQ(grouped("a * b + c"), "((a * b) + c)");
  EXPECT_EQ(grouped("a - b - c"), "((a - b) - c)");
  EXPECT_EQ(grouped("a / b * c"), "((a / b) * c)");
  EXPECT_EQ(grouped("a * b %*% c"), "(a * (b %*% c))");
  EXPECT_EQ(grouped("a * b %% c"), "(a * (b %% c))");
  EXPECT_EQ(grouped("a %/% b %*% c"), "(a %/% (b %*% c))");
  EXPECT_EQ(grouped("a %*% b %*% c"), "((a %*% b) %*% c)");
  EXPECT_EQ(grouped("a + b < c * d"), "((a + b) < (c * d))");
  EXPECT_EQ(grouped("a < b & c >= d | e != f"), "(((a < b) & (c >= d)) | (e != f))");
  EXPECT_EQ(grouped("a | b & c"), "(a | (b & c))");
  EXPECT_EQ(grouped("a && b || c"), "((a & b) | c)");
  EXPECT_EQ(grouped("(a + b) * c"), "((a + b) * c)");
}

TEST(Precedence, PowerGoesFromRightToLeft) {
  EXPECT_EQ(grouped("a ^ b ^ c"), "(a ^ (b ^ c))");
  EXPECT_EQ(grouped("-a ^ b"), "(-(a ^ b))");
  EXPECT_EQ(grouped("a ^ -b * c"), "((a ^ (-b)) * c)");
  EXPECT_EQ(grouped("2 ^ -3 ^ 2"), "(2 ^ (-(3 ^ 2)))");
}

TEST(Precedence, UnaryOperators) {
  EXPECT_EQ(grouped("-a %*% b"), "((-a) %*% b)");
  EXPECT_EQ(grouped("-t(X) %*% y"), "((-t(X)) %*% y)");
  EXPECT_EQ(grouped("a * -b %*% c"), "(a * ((-b) %*% c))");
  EXPECT_EQ(grouped("!a == b & c"), "((!(a == b)) & c)");
  EXPECT_EQ(grouped("a & !b == c | d"), "((a & (!(b == c))) | d)");
  EXPECT_EQ(grouped("- - + a"), "(-(-(+a)))");
}

TEST(Parser, Literals) {
  EXPECT_EQ(grouped("c(1, 1L, 2.0, .5, 5., 1e3, 1E-2, TRUE, FALSE)"),
            "c(1, 1, 2.0, 0.5, 5.0, 1000.0, 0.01, TRUE, FALSE)");
  EXPECT_EQ(grouped("\"a\\tb\\n\\\"'\\\\\""), "\"a\\tb\\n\\\"'\\\\\"");
  EXPECT_EQ(grouped("'a \"b\"'"), "\"a \\\"b\\\"\"");
  EXPECT_EQ(grouped("1e999"), "Inf");
  EXPECT_EQ(grouped("1e-999"), "0.0");
  EXPECT_EQ(grouped("9223372036854775807"), "9223372036854775807");
}

TEST(Parser, AssignmentsAndCalls) {
  EXPECT_EQ(normalized("a = 1; b <- 2;; c += a"), "a = 1\nb = 2\nc += a\n");
  EXPECT_EQ(normalized("[a, B[1,]] = f(x, y = 2)"), "[a, B[1, ]] = f(x, y = 2)\n");
  EXPECT_EQ(normalized("print(\"x\")"), "print(\"x\")\n");
  EXPECT_EQ(normalized("x = nn::forward(X, W)"), "x = nn::forward(X, W)\n");
  EXPECT_EQ(normalized("x = as.scalar(X[1,1])"), "x = as.scalar(X[1, 1])\n");
  EXPECT_EQ(normalized("x = conv2d(X, W, stride=[1, 1])"), "x = conv2d(X, W, stride = [1, 1])\n");
  EXPECT_EQ(normalized("x = ifdef($reg, 0.5) y = $1 z = $out"),
            "x = ifdef($reg, 0.5)\ny = $1\nz = $out\n");
}

TEST(Parser, Indexing) {
  EXPECT_EQ(
      normalized("x = X[i,] y = X[,j] z = X[a:b, c] u = X[1:2, 3:n-1] v = L[\"k\"] w = X[,]"),
      "x = X[i, ]\ny = X[, j]\nz = X[a:b, c]\nu = X[1:2, 3:n - 1]\nv = L[\"k\"]\nw = X[, ]\n");
  EXPECT_EQ(normalized("X[i, j] = 1 X [1:2, ] += Y"), "X[i, j] = 1\nX[1:2, ] += Y\n");
}

// Statements need no separator: what follows the bracket tells.
TEST(Parser, BracketOnTheNextLineMayBeginAStatement) {
  EXPECT_EQ(normalized("x = y\n[a, b] = f(x)"), "x = y\n[a, b] = f(x)\n");
  EXPECT_EQ(normalized("x = y\n[1, 2]\nz = 1"), "x = y[1, 2]\nz = 1\n");
}

TEST(Parser, ControlFlow) {
  EXPECT_EQ(normalized("if (a) b = 1 else if (c) { d = 2 } else e = 3"),
            "if (a) {\n  b = 1\n} else {\n  if (c) {\n    d = 2\n  } else {\n    e = 3\n  }\n}\n");
  EXPECT_EQ(normalized("if (a) b = 1; else c = 2"), "if (a) {\n  b = 1\n} else {\n  c = 2\n}\n");
  EXPECT_EQ(normalized("while (i < n) i = i + 1 j = 2"),
            "while (i < n) {\n  i = i + 1\n}\nj = 2\n");
  EXPECT_EQ(normalized("for (i in 1:n) x = i"), "for (i in 1:n) {\n  x = i\n}\n");
  EXPECT_EQ(normalized("for (i in seq(10, 1, -2)) x = i"),
            "for (i in seq(10, 1, -2)) {\n  x = i\n}\n");
  EXPECT_EQ(normalized("for (i in seq(1, n)) { }"), "for (i in 1:n) {\n}\n");
  EXPECT_EQ(normalized("parfor (i in 1:n, check = 0, par=4) { }"),
            "parfor (i in 1:n, check = 0, par = 4) {\n}\n");
}

TEST(Parser, Functions) {
  EXPECT_EQ(
      normalized("f = function(Matrix[Double] X, int k = 2*3, list[unknown] l, Frame[String] F)"
                 " return (Double y, Boolean b) { y = sum(X) b = TRUE }"),
      "f = function(Matrix[Double] X, Integer k = 2 * 3, List[Unknown] l, Frame[String] F)"
      " return (Double y, Boolean b) {\n  y = sum(X)\n  b = TRUE\n}\n");
  EXPECT_EQ(normalized("f <- function() { print(1) }"),
            "f = function() return () {\n  print(1)\n}\n");
  EXPECT_EQ(normalized("g = externalFunction(Matrix[Double] X) return (Matrix[Double] Y)"
                       " implemented in (classname=\"a.B\", exectype=\"mem\")"),
            "g = externalFunction(Matrix[Double] X) return (Matrix[Double] Y)"
            " implemented in (classname = \"a.B\", exectype = \"mem\")\n");
}

TEST(Parser, ImportsAndComments) {
  EXPECT_EQ(normalized("# first\nsource(\"nn/a.dml\") as a /* two\nlines */ setwd(\"x\");"),
            "source(\"nn/a.dml\") as a\nsetwd(\"x\")\n");
  EXPECT_EQ(normalized("# nothing but a comment"), "");
}

// Words with a meaning in one place only are names elsewhere.
TEST(Parser, ContextualWordsAreNames) {
  EXPECT_EQ(normalized("in = 1 as = in for (in in 1:2) x = in"),
            "in = 1\nas = in\nfor (in in 1:2) {\n  x = in\n}\n");
}

// Both occur in published scripts.
TEST(Parser, StraySeparators) {
  EXPECT_EQ(normalized("stop(\"a\"). x = 1"), "stop(\"a\")\nx = 1\n");
  EXPECT_EQ(normalized("x = ifelse(a, b, n = ceil(c););"), "x = ifelse(a, b, n = ceil(c))\n");
}

TEST(Printer, ParenthesesOnlyWhereNeeded) {
  EXPECT_EQ(normalized("x = (a + b) * c - (d - e) - (f * g)"),
            "x = (a + b) * c - (d - e) - f * g\n");
  EXPECT_EQ(normalized("x = (a ^ b) ^ c + a ^ (b ^ c) + (-a) ^ b"),
            "x = (a ^ b) ^ c + a ^ b ^ c + (-a) ^ b\n");
  EXPECT_EQ(normalized("x = (!a) == b & !(c & d)"), "x = (!a) == b & !(c & d)\n");
  EXPECT_EQ(normalized("x = -(a %*% b)"), "x = -(a %*% b)\n");
}

} // namespace
} // namespace headrace::script
