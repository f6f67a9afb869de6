#include "Sessions.h"
#include "adaptive/CompileLog.h"
#include <chrono>
#include <mutex>
#include <thread>

namespace headrace::script {
namespace {

TEST(ScriptSession, PrintsAsSystemDsDoes) {
  EXPECT_EQ(runScript("print(sum(matrix(1, 10, 10)))").output, "100.0\n");
  EXPECT_EQ(runScript("print(1 + 2)").output, "3\n");
  EXPECT_EQ(runScript("print(7 / 2 + \" \" + 1e-9 + \" \" + TRUE)").output, "3.5 1.0E-9 TRUE\n");
  EXPECT_EQ(runScript("print(toString(matrix(\"1 2 3 4\", rows=2, cols=2), decimal=1))").output,
            "1.0 2.0\n3.0 4.0\n\n");
  EXPECT_EQ(runScript("print(\"%d of %5.2f is %s\", 3, 0.5, \"x\")").output, "3 of  0.50 is x\n");
}

TEST(ScriptSession, ScalarsKeepTheirTypes) {
  EXPECT_EQ(runScript("print(7 %/% 2); print(-7 %% 3); print(2 ^ 10); print(2 ^ 0.5 > 1)").output,
            "3\n-1\n1024.0\nTRUE\n");
  EXPECT_EQ(runScript("x = 1; if (x == 1 & !(x > 2)) print(\"yes\") else print(\"no\")").output,
            "yes\n");
}

TEST(ScriptSession, AClockReadBetweenStatementsTimesWhatIsBetween) {
  const char *text = R"(
    X = rand(rows=300, cols=300, seed=1)
    t0 = time()
    Y = X %*% X; Z = exp(Y / 300) %*% Y
    t1 = time()
    t2 = time()
  )";
  for (CompileWhen compile : {CompileWhen::Never, CompileWhen::Always}) {
    Ran ran = runScript(text, compile);
    EXPECT_GT(ran.number("t1") - ran.number("t0"), 10 * (ran.number("t2") - ran.number("t1")));
  }
}

TEST(ScriptSession, WhatNoCallerReadsIsNotComputed) {
  const char *text = R"(
    f = function(Double a) return (Double y, Double z) { y = a + 1; z = as.scalar(inv(matrix(0, 1, 1))) }
    [b, c] = f(1)
  )";
  std::string message = errorOf(std::string(text) + "print(c)");
  EXPECT_NE(message.find("singular"), std::string::npos) << message;
  EXPECT_EQ(runScript("f = function(Double a) return (Double y, Double z) { y = a + 1; z = "
                      "as.scalar(inv(matrix(0, 1, 1))) }\ng = function() return (Double y) { [y, "
                      "z] = f(1) }\nx = g()")
                .number("x"),
            2);
}

TEST(ScriptSession, ControlFlow) {
  Ran ran = runScript(R"(
    total = 0
    for (i in 1:10) { if (i %% 2 == 0) total = total + i }
    n = 0
    while (n * n < 50) n = n + 1
    for (k in seq(10, 1, -3)) print(k)
  )");
  EXPECT_EQ(ran.number("total"), 30);
  EXPECT_EQ(ran.number("n"), 8);
  EXPECT_EQ(ran.output, "10\n7\n4\n1\n");
}

TEST(ScriptSession, Functions) {
  Ran ran = runScript(R"(
    scale = function(Matrix[Double] X, Double factor = 2) return (Matrix[Double] Y, Double s) {
      Y = X * factor
      s = sum(Y)
    }
    fact = function(Integer n) return (Integer f) {
      f = 1
      if (n > 1) { g = fact(n - 1); f = n * g }
    }
    [A, a] = scale(matrix(1, 2, 3))
    [B, b] = scale(X = A, factor = 10)
    f = fact(10)
  )");
  EXPECT_EQ(ran.number("a"), 12);
  EXPECT_EQ(ran.number("b"), 120);
  EXPECT_EQ(ran.number("f"), 3628800);
}

TEST(ScriptSession, Indexing) {
  Ran ran = runScript(R"(
    X = matrix(seq(1, 12), rows=3, cols=4)
    a = as.scalar(X[2, 3])
    R = X[2, ]
    C = X[, 4]
    P = X[2:3, 1:2]
    X[1, 1] = 100
    X[2:3, 3:4] = matrix(0, 2, 2)
    X[, 2] = matrix(7, 3, 1)
  )");
  EXPECT_EQ(ran.number("a"), 7);
  EXPECT_EQ(ran.cells("R"), (std::vector<double>{5, 6, 7, 8}));
  EXPECT_EQ(ran.cells("C"), (std::vector<double>{4, 8, 12}));
  EXPECT_EQ(ran.cells("P"), (std::vector<double>{5, 6, 9, 10}));
  EXPECT_EQ(ran.cells("X"), (std::vector<double>{100, 7, 3, 4, 5, 7, 0, 0, 9, 7, 0, 0}));
}

TEST(ScriptSession, AssigningToAPartLeavesOtherVariablesAlone) {
  Ran ran = runScript("A = matrix(1, 2, 2); B = A; A[1, 1] = 5; C = A; C[2, 2] = 9");
  EXPECT_EQ(ran.cells("A"), (std::vector<double>{5, 1, 1, 1}));
  EXPECT_EQ(ran.cells("B"), (std::vector<double>{1, 1, 1, 1}));
  EXPECT_EQ(ran.cells("C"), (std::vector<double>{5, 1, 1, 9}));
}

TEST(ScriptSession, InputsAreNotWrittenTo) {
  Tensor x = matrixOf(1, 2, {1, 2});
  runScript("X[1, 1] = 50; X = X + 1", CompileWhen::Worthwhile, {{"X", x}});
  EXPECT_EQ(x.as<double>()[0], 1);
}

TEST(ScriptSession, ListsHoldAnything) {
  Ran ran = runScript(R"(
    l = list(a = 3, b = matrix(2, 2, 2), "text")
    n = length(l)
    s = sum(as.matrix(l["b"])) + as.scalar(l[1])
    l["a"] = 10
    t = as.scalar(l["a"])
  )");
  EXPECT_EQ(ran.number("n"), 3);
  EXPECT_EQ(ran.number("s"), 11);
  EXPECT_EQ(ran.number("t"), 10);
}

TEST(ScriptSession, RandomMatricesDependOnTheirSeedOnly) {
  const char *text = "A = rand(rows=50, cols=20, seed=3); B = rand(rows=50, cols=20, seed=3);"
                     "C = rand(rows=50, cols=20); D = rand(rows=50, cols=20);"
                     "S = rand(rows=500, cols=100, sparsity=0.1, seed=9, min=1, max=2)";
  Ran ran = runScript(text);
  EXPECT_EQ(ran.cells("A"), ran.cells("B"));
  EXPECT_NE(ran.cells("C"), ran.cells("D"));
  EXPECT_EQ(ran.cells("C"), runScript(text).cells("C"));
  const CsrMatrix *sparse = ran.variables.at("S").sparse();
  ASSERT_TRUE(sparse);
  EXPECT_NEAR(static_cast<double>(sparse->nonzeros()), 5000, 350);
}

// --- Compiled code against the host ------------------------------------------------------------

void expectSameEverywhere(const std::string &text, const std::vector<std::string> &names) {
  Ran host = runScript(text, CompileWhen::Never);
  Ran compiled = runScript(text, CompileWhen::Always);
  EXPECT_EQ(host.statistics.compilations, 0);
  EXPECT_GT(compiled.statistics.compilations, 0);
  for (const std::string &name : names) {
    bool matrix = host.variables.at(name).matrix();
    std::vector<double> a = matrix ? host.cells(name) : std::vector{host.number(name)};
    std::vector<double> b = matrix ? compiled.cells(name) : std::vector{compiled.number(name)};
    ASSERT_EQ(a.size(), b.size()) << name;
    for (size_t i = 0; i < a.size(); ++i)
      EXPECT_NEAR(a[i], b[i], 1e-10 * (1 + std::abs(a[i]))) << name << "[" << i << "]";
  }
}

TEST(CompiledBlocks, CellsAndAggregates) {
  expectSameEverywhere(
      R"(
    X = rand(rows=7, cols=5, min=-1, max=1, seed=1)
    v = rand(rows=7, cols=1, seed=2)
    r = rand(rows=1, cols=5, seed=3)
    A = (X * v + r) / 2 - X ^ 2
    B = ifelse(X > 0, sqrt(abs(X)), exp(X)) + (X <= v & X != r)
    C = round(X * 10) %% 3 + X %/% 0.1 + sign(X) + max(X, 0) + min(X, v)
    s = sum(X * A); m = mean(B); lo = min(C); hi = max(C); pr = prod(v)
    rs = rowSums(A); cs = colSums(B); rm = rowMaxs(C); cm = colMins(C); ra = rowMeans(X)
    va = var(X); sd1 = colSds(X); lg = log(abs(X) + 1, 2)
  )",
      {"A", "B", "C", "s", "m", "lo", "hi", "pr", "rs", "cs", "rm", "cm", "ra", "va", "sd1", "lg"});
}

TEST(CompiledBlocks, ProductsAndMovement) {
  expectSameEverywhere(R"(
    X = rand(rows=37, cols=5, min=-1, max=1, seed=1)
    w = rand(rows=37, cols=1, seed=2)
    v = rand(rows=5, cols=1, seed=3)
    q = t(X) %*% (w * (X %*% v))
    G = t(X) %*% X
    O = X %*% t(X)
    E = cbind(X, matrix(1, nrow(X), 1), w)
    F = rbind(X, t(v))
    T = t(E) %*% E
    s = as.scalar(t(v) %*% v) + sum(G)
  )",
                       {"q", "G", "O", "E", "F", "T", "s"});
}

TEST(CompiledBlocks, EmptyAndSingleSizes) {
  for (const char *rows : {"0", "1", "2"})
    for (const char *cols : {"1", "3"})
      expectSameEverywhere("X = rand(rows=" + std::string(rows) + ", cols=" + cols +
                               ", seed=1)\n"
                               "Y = X * 2 + 1; s = sum(Y); c = colSums(Y); r = rowSums(Y);"
                               "p = t(X) %*% Y",
                           {"Y", "s", "c", "r", "p"});
}

// --- Planning ----------------------------------------------------------------------------------

TEST(Planning, ALoopIsPlannedOnce) {
  Ran ran = runScript("x = matrix(1, 20, 1); for (i in 1:100) x = x * 0.5 + i");
  EXPECT_LE(ran.statistics.plans, 4);
  EXPECT_GE(ran.statistics.cacheHits, 99);
}

TEST(Planning, SizesThatChangeBecomeSymbols) {
  Ran ran = runScript("X = matrix(1, 5, 3)\n"
                      "for (i in 1:40) { X = rbind(X, X[1, ] + i) ; s = sum(X) }",
                      CompileWhen::Always);
  EXPECT_EQ(ran.number("s"), 1 * 15 + 3 * (40 * 1 + 820));
  EXPECT_LE(ran.statistics.plans, 8) << "a plan for each size";
}

TEST(Planning, DataDependentSizesArePlannedWhenKnown) {
  Ran ran = runScript("X = matrix(\"1 0 2 0 0 0 3 4 5\", rows=3, cols=3)\n"
                      "Y = removeEmpty(target=X, margin=\"rows\")\n"
                      "Z = Y * 2\n"
                      "n = nrow(Z)\n"
                      "W = matrix(1, n, 2)\n"
                      "s = sum(Z) + sum(W)",
                      CompileWhen::Always);
  EXPECT_EQ(ran.number("n"), 2);
  EXPECT_EQ(ran.number("s"), 34);
  EXPECT_GE(ran.statistics.recompilations, 1);
}

TEST(Planning, TheCacheOfPlansIsBounded) {
  ScriptOptions options;
  options.settings.planCacheSize = 2;
  options.print = [](const std::string &) {};
  ScriptSession session(
      "test.dml", "a = 1; for (i in 1:5) { if (i > 2) b = matrix(i, i, i) else b = i; a = a + 1 }",
      options);
  EXPECT_EQ(session.run().at("a").number("a"), 6);
}

TEST(Planning, ASessionKeepsItsPlans) {
  ScriptOptions options;
  ScriptSession session("test.dml", "Y = X * 2", options);
  session.run({{"X", matrixOf(2, 2, {1, 2, 3, 4})}});
  EXPECT_EQ(session.statistics().plans, 1);
  session.run({{"X", matrixOf(2, 2, {1, 2, 3, 4})}});
  EXPECT_EQ(session.statistics().plans, 0);
  EXPECT_EQ(session.statistics().cacheHits, 1);
}

TEST(Planning, ASessionKeepsFewArguments) {
  ScriptOptions options;
  options.print = [](const std::string &) {};
  ScriptSession session("test.dml", "Y = X * $1", options);
  auto plansFor = [&](int argument) {
    session.run({{"X", matrixOf(2, 2, {1, 2, 3, 4})}}, {{"1", std::to_string(argument)}});
    return session.statistics().plans;
  };
  for (int argument = 0; argument < 100; ++argument)
    EXPECT_EQ(plansFor(argument), 1);
  EXPECT_EQ(plansFor(99), 0) << "used last";
  EXPECT_EQ(plansFor(0), 1) << "dropped long ago";
}

/// The lines of the log of compilations that begin with a word.
class LoggedCompilations : public testing::Test {
protected:
  void SetUp() override {
    adaptive::logCompilations([this](const std::string &line) {
      std::lock_guard lock(mutex);
      lines.push_back(line);
    });
  }
  void TearDown() override { adaptive::logCompilations(nullptr); }

  int64_t count(const std::string &part) {
    std::lock_guard lock(mutex);
    return std::ranges::count_if(
        lines, [&](const std::string &line) { return line.find(part) != std::string::npos; });
  }

  std::mutex mutex;
  std::vector<std::string> lines;
};

TEST_F(LoggedCompilations, RunsWithOtherArgumentsShareCode) {
  ScriptOptions options;
  options.settings.compile = CompileWhen::Always;
  options.settings.code = makeSegmentCompiler({});
  std::string printed;
  options.print = [&](const std::string &line) { printed += line + " "; };
  ScriptSession session("test.dml", "print($1)\nY = X * 2 + 1", options);
  for (int argument = 0; argument < 3; ++argument)
    session.run({{"X", matrixOf(2, 2, {1, 2, 3, 4})}}, {{"1", std::to_string(argument)}});
  EXPECT_EQ(printed, "0 1 2 ");
  EXPECT_EQ(count("compiled"), 1);
}

TEST_F(LoggedCompilations, SizesThatAreUsedGetAVersionInTheBackground) {
  Settings settings;
  settings.specializeAfter = 0;
  ScriptOptions options;
  options.settings.compile = CompileWhen::Always;
  options.settings.code = makeSegmentCompiler(settings);
  ScriptSession session("test.dml", "Y = X * 2 + 1", options);
  constexpr int64_t large = 300; // a symbol from the start
  Tensor ones = matrixOf(large, 3, std::vector<double>(large * 3, 1));
  auto resultOf = [&] { return session.run({{"X", ones}}).at("Y").dense("Y").as<double>()[0]; };
  for (int call = 0; call < 4; ++call)
    EXPECT_EQ(resultOf(), 3);
  for (int tenths = 0; tenths < 1200 && count("in the background") == 0; ++tenths)
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(count("in the background"), 1);
  EXPECT_EQ(resultOf(), 3);
}

// --- Errors ------------------------------------------------------------------------------------

TEST(ScriptErrors, NameTheirPlace) {
  EXPECT_EQ(errorOf("X = matrix(1, 2, 3)\nY = X + matrix(1, 4, 3)"),
            "test.dml:2:7: '+' of matrices of 2 x 3 and 4 x 3: expected equal sizes, a row or a "
            "column\n  Y = X + matrix(1, 4, 3)\n        ^");
  EXPECT_EQ(errorOf("X = matrix(1, 2, 3)\nY = X %*% X").substr(0, 76),
            "test.dml:2:7: '%*%' of matrices of 2 x 3 and 2 x 3: expected as many columns");
  EXPECT_EQ(errorOf("X = matrix(1, 2, 3)\ny = X[3, 1]").substr(0, 46),
            "test.dml:2:5: expected rows from 1 to 2, got 3");
  EXPECT_EQ(errorOf("stop(\"no good\")").substr(0, 31), "test.dml:1:1: stopped: no good\n");
  EXPECT_EQ(errorOf("x = rcm(matrix(1, 2, 2), matrix(1, 2, 2))").substr(0, 57),
            "test.dml:1:5: 'rcm' is understood but not executed yet\n  ");
  EXPECT_EQ(errorOf("x = read(\"no such file.csv\")").substr(0, 14), "test.dml:1:5: ");
  EXPECT_EQ(
      errorOf("f = function(Double x) return (Double y) { y = f(x) }\nz = f(1)").substr(0, 49),
      "test.dml:1:44: calls are nested more than 256 dee");
}

TEST(ScriptErrors, NumbersThatAreNoPositions) {
  for (std::string bound : {"1e30", "-1e30", "1/0"})
    EXPECT_NE(errorOf("b = " + bound + "\nfor (i in b:b) x = i").find("a bound of a loop"),
              std::string::npos)
        << bound;
  EXPECT_EQ(runScript("for (i in seq(9007199254740990, 9007199254740991)) print(i)").output,
            "9007199254740990\n9007199254740991\n");
  for (std::string column : {"1e30", "0/0", "1.5", "0", "4"})
    EXPECT_NE(errorOf("X = order(target=matrix(1, 3, 3), by=matrix(" + column + ", 1, 1))")
                  .find("expected columns from 1 to 3, got "),
              std::string::npos)
        << column;
}

} // namespace
} // namespace headrace::script
