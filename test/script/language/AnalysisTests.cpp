#include "ScriptHelpers.h"

namespace headrace::script {
namespace {

AnalysisOptions keepingAll() {
  AnalysisOptions options;
  options.keepAll = true;
  return options;
}

TEST(Analysis, StraightStatementsShareABlock) {
  EXPECT_EQ(print(analyzed("a = 1\nb = a + 1\nprint(b)")), "block () -> () ends (a, b)\n"
                                                           "  a = 1\n"
                                                           "  b = a + 1\n"
                                                           "  print(b)\n");
}

TEST(Analysis, ConditionsAreOperands) {
  AnalysisOptions options;
  options.inputs["X"] = Type::matrix();
  options.outputs = {"s"};
  EXPECT_EQ(print(analyzed("s = 0\nif (sum(X) > 0) s = 1 else s = 2", options)),
            "block (Matrix[Double] X) -> (_1) ends (X, s)\n"
            "  s = 0\n"
            "  _1 = sum(X) > 0\n"
            "if _1\n"
            "  block () -> (s) ends ()\n"
            "    s = 1\n"
            "else\n"
            "  block () -> (s) ends ()\n"
            "    s = 2\n");
}

// n is read by every test of the condition, so it does not end in the header.
TEST(Analysis, LoopsKeepWhatTheNextRoundReads) {
  AnalysisOptions options;
  options.outputs = {"x"};
  EXPECT_EQ(print(analyzed("i = 0\nn = 10\nx = 1.0\nwhile (i < n) {\n  t = x * 2\n  x = t\n"
                           "  i = i + 1\n}",
                           options)),
            "block () -> (i, n, x) ends ()\n"
            "  i = 0\n"
            "  n = 10\n"
            "  x = 1.0\n"
            "while\n"
            "  block (Integer i, Integer n) -> (_1) ends ()\n"
            "    _1 = i < n\n"
            "do _1\n"
            "  block (Double x, Integer i) -> (i, x) ends (t)\n"
            "    t = x * 2\n"
            "    x = t\n"
            "    i = i + 1\n");
}

TEST(Analysis, ForLoopsAndTheirOptions) {
  AnalysisOptions options;
  options.inputs["X"] = Type::matrix();
  options.outputs = {"s"};
  EXPECT_EQ(
      print(analyzed("s = 0\nparfor (i in nrow(X):1, check = 0) s = s + sum(X[i,])", options)),
      "block (Matrix[Double] X) -> (_1, s) ends ()\n"
      "  s = 0\n"
      "  _1 = nrow(X)\n"
      "parfor i in _1:1, check = 0\n"
      "  block (Unknown s, Matrix[Double] X, Integer i) -> (s) ends (i)\n"
      "    s = s + sum(X[i, ])\n");
}

TEST(Analysis, CallsOfScriptFunctionsStandAlone) {
  std::string script = "f = function(Matrix[Double] X, Double a = 1 + 1, Integer n = nrow(X) * 2)"
                       " return (Matrix[Double] Y, Double s) { Y = X * a + n  s = sum(Y) }\n"
                       "A = matrix(1, 2, 2)\n"
                       "B = A + f(A + 1, n = -3)\n"
                       "[C, c] = f(A)\n";
  EXPECT_EQ(print(analyzed(script, keepingAll()).main.body),
            "block () -> (A, _1, _2) ends ()\n"
            "  A = matrix(1, 2, 2)\n"
            "  _1 = A + 1\n"
            "  _2 = 1 + 1\n"
            "call [_3, -] = f(_1, _2, -3) ends (_1, _2)\n"
            "block (Matrix[Double] A, Matrix[Double] _3) -> (B, _4, _5) ends (_3)\n"
            "  B = A + _3\n"
            "  _4 = 1 + 1\n"
            "  _5 = nrow(A) * 2\n"
            "call [C, c] = f(A, _4, _5) ends (_4, _5)\n");
}

TEST(Analysis, AccumulationIsSpelledOut) {
  EXPECT_EQ(print(analyzed("a = 1\na += 2\nX = matrix(0, 2, 2)\nX[1, ] += 3")),
            "block () -> () ends (X, a)\n"
            "  a = 1\n"
            "  a = a + 2\n"
            "  X = matrix(0, 2, 2)\n"
            "  X[1, ] = X[1, ] + 3\n");
}

TEST(Analysis, ParametersBecomeLiterals) {
  AnalysisOptions options;
  options.parameters = {{"X", "data.csv"}, {"n", "12"}, {"r", "1e-3"}, {"v", "TRUE"}, {"q", "'7'"}};
  options.parameters["1"] = "-4";
  EXPECT_EQ(print(analyzed("a = $X b = $n c = $r d = $v e = $q f = $1 g = ifdef($n, 0) "
                           "h = ifdef($no, 2 * 3)",
                           options)),
            "block () -> () ends (a, b, c, d, e, f, g, h)\n"
            "  a = \"data.csv\"\n  b = 12\n  c = 0.001\n  d = TRUE\n  e = \"7\"\n  f = -4\n"
            "  g = 12\n  h = 2 * 3\n");
}

TEST(Analysis, ConstantsUnlessAssigned) {
  EXPECT_EQ(print(analyzed("x = pi y = -Inf z = NaN")),
            "block () -> () ends (x, y, z)\n"
            "  x = 3.141592653589793\n  y = -Inf\n  z = NaN\n");
  EXPECT_EQ(print(analyzed("pi = 3 x = pi")), "block () -> () ends (pi, x)\n  pi = 3\n  x = pi\n");
}

TEST(Analysis, IndexedResultsGoThroughVariables) {
  std::string script = "f = function(Double a) return (Double b, Double c) { b = a c = a }\n"
                       "X = matrix(0, 2, 2)\n"
                       "[X[1, 1], d] = f(1.0)\n"
                       "[X[1, ], V] = eigen(X)\n";
  EXPECT_EQ(print(analyzed(script, keepingAll()).main.body),
            "block () -> (X) ends ()\n"
            "  X = matrix(0, 2, 2)\n"
            "call [_1, d] = f(1.0) ends ()\n"
            "block (Double _1, Matrix[Double] X) -> (V, X) ends (_1, _2)\n"
            "  X[1, 1] = _1\n"
            "  [_2, V] = eigen(X)\n"
            "  X[1, ] = _2\n");
}

TEST(Analysis, RecursionAndLocalNamesBeforeBuiltins) {
  Program program = analyzed("sum = function(Integer n) return (Integer s) {\n"
                             "  s = n\n  if (n > 0) s = n + sum(n - 1)\n}\n"
                             "x = sum(3)",
                             keepingAll());
  ASSERT_EQ(program.functions.size(), 1U);
  EXPECT_EQ(print(program.main.body), "call [x] = sum(3) ends ()\n");
}

TEST(Analysis, OnlyReachedFunctionsAreKept) {
  std::string script = "f = function() return (Double y) { y = g() }\n"
                       "g = function() return (Double y) { y = 1 }\n"
                       "h = function() return (Double y) { y = unknown() }\n"
                       "x = f()";
  EXPECT_EQ(analyzed(script).functions.size(), 2U);
}

Type typeOf(const std::string &expression) {
  AnalysisOptions options;
  options.inputs = {{"X", Type::matrix()},
                    {"d", Type::scalar(ValueType::Double)},
                    {"i", Type::scalar(ValueType::Integer)},
                    {"F", {DataType::Frame, ValueType::String}},
                    {"u", {}}};
  Program program = analyzed("r = " + expression, options);
  return program.main.body.front().as<BasicBlock>()->statements.front()->as<Assign>()->value->type;
}

TEST(Types, FollowFromOperandsAndBuiltins) {
  Type number = Type::scalar(ValueType::Double), integer = Type::scalar(ValueType::Integer);
  Type truth = Type::scalar(ValueType::Boolean), text = Type::scalar(ValueType::String);
  EXPECT_EQ(typeOf("X + 1"), Type::matrix());
  EXPECT_EQ(typeOf("X > u"), Type::matrix());
  EXPECT_EQ(typeOf("u %*% u"), Type::matrix());
  EXPECT_EQ(typeOf("i + 1"), integer);
  EXPECT_EQ(typeOf("i / 2"), number);
  EXPECT_EQ(typeOf("i * d"), number);
  EXPECT_EQ(typeOf("i < d & TRUE"), truth);
  EXPECT_EQ(typeOf("\"a\" + d"), text);
  EXPECT_EQ(typeOf("sum(X) + nrow(X)"), number);
  EXPECT_EQ(typeOf("exp(X)"), Type::matrix());
  EXPECT_EQ(typeOf("exp(d)"), number);
  EXPECT_EQ(typeOf("max(X)"), number);
  EXPECT_EQ(typeOf("max(X, 0)"), Type::matrix());
  EXPECT_EQ(typeOf("ifelse(i > 1, \"a\", \"b\")"), text);
  EXPECT_EQ(typeOf("F[1, ]"), (Type{DataType::Frame, ValueType::String}));
  EXPECT_EQ(typeOf("X[1, 1]"), Type::matrix());
  EXPECT_EQ(typeOf("u + 1"), Type{});
  EXPECT_EQ(typeOf("!(i > 1)"), truth);
}

// Through the loop x is a matrix in one round and a number in another.
TEST(Types, LoopsJoinAllRounds) {
  Program program = analyzed("x = 1\nfor (i in 1:3) {\n  y = x\n  x = matrix(x, 2, 2)\n}");
  const auto *loop = program.main.body.back().as<ForBlock>();
  ASSERT_TRUE(loop);
  const auto *body = loop->body.front().as<BasicBlock>();
  ASSERT_EQ(body->inputs.size(), 1U);
  EXPECT_EQ(body->inputs[0].type.data, DataType::Unknown);
}

TEST(Types, ScalarTwinIsOffered) {
  Program program =
      analyzed("m_f = function(Matrix[Double] X) return (Matrix[Double] Y) { Y = X }\n"
               "s_f = function(Double x) return (Double y) { y = x }\n"
               "a = m_f(2.0)\nb = a + 1",
               keepingAll());
  const auto *call = program.main.body.front().as<CallBlock>();
  ASSERT_TRUE(call && call->ofScalar);
  EXPECT_EQ(call->ofScalar->name, "s_f");
  EXPECT_EQ(print(program.main.body), "call [a] = m_f(2.0) ends ()\n"
                                      "block (Double a) -> (b) ends ()\n"
                                      "  b = a + 1\n");
}

} // namespace
} // namespace headrace::script
