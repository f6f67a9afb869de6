// Operations of loops whose operands stay the same are computed once; every script gives what it
// gives without that.
#include "Sessions.h"

namespace headrace::script {
namespace {

Ran run(const std::string &text, bool findInvariants, CompileWhen compile,
        const ScriptSession::Variables &inputs) {
  Ran ran;
  ScriptOptions options;
  options.settings.compile = compile;
  options.settings.findInvariants = findInvariants;
  options.settings.code = makeSegmentCompiler({});
  options.settings.explainRuntime = compile == CompileWhen::Never;
  options.settings.explain = [&](const std::string &line) { ran.output += line; };
  options.print = [&](const std::string &line) { ran.output += line + "\n"; };
  ScriptSession session("test.dml", text, options);
  ran.variables = session.run(inputs);
  ran.statistics = session.statistics();
  return ran;
}

ScriptSession::Variables inputs(int64_t rows, int64_t cols) {
  ScriptSession::Variables variables;
  Tensor x = newMatrix(rows, cols), p = newMatrix(cols, 1);
  for (int64_t i = 0; i < x.elements(); ++i)
    x.as<double>()[i] = static_cast<double>((i * 7919) % 23 - 11) / 8;
  for (int64_t i = 0; i < p.elements(); ++i)
    p.as<double>()[i] = 1 + static_cast<double>(i % 5);
  variables["X"] = x;
  variables["p"] = p;
  return variables;
}

/// Runs the script with and without, compares all variables, and returns how often values were
/// reused if everything that can be is kept.
int64_t reusedIn(const std::string &text, int64_t rows = 12, int64_t cols = 5) {
  Ran expected = run(text, false, CompileWhen::Never, inputs(rows, cols));
  EXPECT_EQ(expected.statistics.reused, 0);
  Ran found = run(text, true, CompileWhen::Always, inputs(rows, cols));
  for (const auto &[name, value] : expected.variables) {
    bool matrix = value.matrix();
    std::vector<double> a = matrix ? expected.cells(name) : std::vector{expected.number(name)};
    std::vector<double> b = matrix ? found.cells(name) : std::vector{found.number(name)};
    EXPECT_EQ(a.size(), b.size()) << name;
    for (size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-9 * (1 + std::abs(a[i]))) << name << " " << i << "\n" << text;
  }
  return found.statistics.reused;
}

TEST(Invariants, OfLoopsAndOfFunctionsCalledInLoops) {
  // A variable that a loop does not write is known before the loop; in a function, from the first
  // call.
  EXPECT_EQ(reusedIn("for (i in 1:6) { p = t(X) %*% (X %*% p); p = p / sum(p) }"), 5);
  EXPECT_GE(reusedIn("f = function(Matrix[Double] A, Matrix[Double] q) return (Matrix[Double] r) "
                     "{ r = solve(t(A) %*% A + diag(q), q) }\n"
                     "s = 0; k = p\nfor (i in 1:5) { if (i > 0) { r = f(X, k); s = s + sum(r) } }"),
            3);
  EXPECT_GE(reusedIn("s = 0\ni = 0\nwhile (i < 5) { s = s + i * sum(exp(X)); i = i + 1 }"), 2);
}

TEST(Invariants, AreComputedAgainWhenOperandsChange) {
  reusedIn("s = 0\nfor (i in 1:8) { if (i == 5) { X = X * 2 }\n s = s + i * sum(t(X) %*% X) }");
  reusedIn("s = 0\nfor (i in 1:8) { if (i %% 3 == 0) { X[1, 2] = i }\n s = s + i * sum(X %*% p) }");
  reusedIn("s = 0\nfor (i in 1:8) { X[i, 1] = i\n s = s + sum(X %*% p) }");
  reusedIn("s = 0\nfor (j in 1:3) { Y = X + j; for (i in 1:4) s = s + i * sum(Y %*% p) }");
  reusedIn("s = 0; z = 1\nfor (i in 1:8) { if (i == 4) { z = -z; }\n s = s + i * sum(X * z) }");
}

TEST(Invariants, OfSizesThatChange) {
  reusedIn("s = 0; Y = X\nfor (i in 1:4) { Y = rbind(Y, X); s = s + nrow(Y) * sum(t(X) %*% X) }",
           300, 4);
  reusedIn("s = 0; Y = X\nfor (i in 1:9) { if (i < 5) { Y = rbind(Y, X) }\n"
           " s = s + i * sum(matrix(1, 1, nrow(Y)) %*% Y) }",
           300, 4);
}

TEST(Invariants, LeaveWhatDiffersInEveryIteration) {
  EXPECT_EQ(reusedIn("s = 0\nfor (i in 1:5) { s = s + sum(X * i) }"), 0);
  Ran ran = run("for (i in 1:4) print(sum(rand(rows=9, cols=9)))", true, CompileWhen::Always,
                inputs(3, 3));
  EXPECT_EQ(ran.statistics.reused, 0);
  EXPECT_NE(ran.output.substr(0, 8), ran.output.substr(ran.output.find('\n') + 1, 8));
}

TEST(Invariants, AreShownWithTheTimeThatTheySave) {
  Ran ran = run("for (i in 1:6) p = t(X) %*% (X %*% p) / 1e7", true, CompileWhen::Never,
                inputs(50000, 8));
  EXPECT_EQ(ran.statistics.reused, 5);
  EXPECT_NE(ran.output.find("block at test.dml:1:16: computed once for equal operands: t %*%:1; "
                            "saves about "),
            std::string::npos)
      << ran.output;
  // Reading the result takes as long as computing it once more.
  ran = run("for (i in 1:6) { Y = X * 2; p = t(Y) %*% (Y %*% p) / i }", true, CompileWhen::Never,
            inputs(3000, 800));
  EXPECT_EQ(ran.statistics.reused, 0) << ran.output;
}

} // namespace
} // namespace headrace::script
