// Sparse matrices in scripts: every mix of formats gives what dense matrices give.
#include "runtime/sparse/CsrMatrix.h"

#include "Sessions.h"
#include <random>

namespace headrace::script {
namespace {

Tensor randomCells(int64_t rows, int64_t cols, double density, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> uniform(0, 1);
  Tensor result = newMatrix(rows, cols);
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<double>()[i] = uniform(random) < density ? uniform(random) * 4 - 2 : 0;
  return result;
}

const char *kScript = R"(
  a1 = X + Y; a2 = X - Y; a3 = X * Y; a4 = max(X, Y); a5 = X > Y; a6 = X & Y; a7 = X != Y
  b1 = X * 2; b2 = 3 * X; b3 = X + 1; b4 = X / 4; b5 = X ^ 2; b6 = -X; b7 = X > 0; b8 = X == 0
  c1 = abs(X); c2 = exp(X); c3 = sqrt(abs(X)); c4 = sin(X); c5 = round(X * 3)
  d1 = sum(X); d2 = mean(X); d3 = min(X); d4 = max(X); d5 = sum(X * Y); d6 = sum(X ^ 2)
  e1 = rowSums(X); e2 = colSums(X); e3 = rowMaxs(X); e4 = colMins(X); e5 = rowMeans(X * Y)
  f1 = t(X) %*% Y; f2 = X %*% t(Y); f3 = X %*% v; f4 = t(X) %*% u; f5 = t(X)
  g1 = X * u; g2 = X * t(v); g3 = X * (U %*% t(V)); g4 = sum(X * log(U %*% t(V) + 1))
  g5 = X * (Y + 1) * 2; g6 = sum((X * 2) * (X + Y)); g7 = X / (abs(Y) + 1)
  h1 = cbind(X, Y); h2 = rbind(X, Y); h3 = X[2:3, ]; h4 = X[, 2]; h5 = cbind(X, u)
  k1 = X; k1[1, 1] = 5; k2 = ifelse(X > 0, X, Y); k3 = X * as.scalar(v[1, 1]); k4 = diag(v)
  k5 = cumsum(X); k6 = replace(target = X, pattern = 0, replacement = 9)
  l1 = cbind(X, u, Y); l2 = rbind(X, t(v)); l3 = cbind(X, matrix(1, nrow(X), 1)) %*% rbind(v, matrix(2, 1, 1))
  l4 = cbind(X, matrix(0, nrow(X), 9)); l5 = rev(X); l6 = order(target = X, by = 2); l7 = t(l4)
  m1 = removeEmpty(target = X, margin = "rows"); m2 = removeEmpty(target = X, margin = "cols")
  m3 = removeEmpty(target = X, margin = "rows", select = u > 0)
  m4 = replace(target = X, pattern = NaN, replacement = 0); m5 = contains(target = X, pattern = NaN)
  m6 = contains(target = X, pattern = 0); m7 = contains(target = X, pattern = 0.5)
  n1 = rowIndexMax(X); n2 = rowIndexMin(X); n3 = rowIndexMax(-abs(X)); n4 = rowIndexMin(abs(X))
  o1 = colVars(X); o2 = rowVars(X); o3 = var(X); o4 = sd(X * Y); o5 = colSds(X[1:4, ])
  o6 = sum((X - mean(X)) ^ 2); o7 = prod(X); o8 = rowProds(X); o9 = colProds(abs(X) + 1)
  p1 = X / u; p2 = X / (abs(u) + 1); p3 = X / t(v); p4 = X & u; p5 = t(v) & X; p6 = sum(X / abs(u))
  q1 = X; q1[2:3, 2:4] = matrix(7, 2, 3); q2 = X; q2[, 5] = u; q3 = X; q3[6, ] = t(v)
  t1 = matrix(X, rows = 3, cols = 10); t2 = matrix(X, rows = 10, cols = 3, byrow = FALSE)
  t3 = matrix(X, rows = 30, cols = 1); t4 = lower.tri(target = X, diag = TRUE, values = TRUE)
  t5 = upper.tri(target = X, diag = FALSE, values = TRUE); t6 = lower.tri(target = X, values = FALSE)
  s1 = ifelse(X, Y, 0); s2 = ifelse(X > 0, u, 0); s3 = ifelse(X != 0, 2, 0); s4 = ifelse(X, X, u)
  u1 = sum(X == 0); u2 = rowSums(X == 0); u3 = colSums(exp(X)); u4 = sum(exp(X) - 1 + (X <= 0))
  u5 = sum((X * 2) >= 0); u6 = rowSums(!(X != 0)); u7 = ifelse(X > 0, X * Y, 0); u8 = ifelse(X > 0, X, 0)
  u9 = colSums(1 - abs(X)); u0 = sum(X + 1) + sum(1 / (X + 3))
  w1 = (X - colMeans(X)) %*% v; w2 = t(X - colMeans(X)) %*% u; w3 = t(u) %*% (X + t(v)); w4 = t(v) %*% t(X - rowMeans(X))
  w5 = (X - 2) %*% v; w6 = t(X + u) %*% Y; w7 = Y %*% t(X - t(v)); w8 = (X - u) %*% t(Y)
  x1 = sum((X - colMeans(X)) ^ 2); x2 = colSums((X - t(v)) ^ 2); x3 = rowSums((X - u) ^ 2); x4 = sum((X - 3) ^ 2)
  x5 = rowSums((X - t(v)) ^ 2); x6 = sum((X + u) ^ 2); D = X - t(v); x7 = D %*% v; x8 = t(D) %*% D
  y1 = rowSums(X - t(v)); y2 = rowSums(X + u); y3 = colSums(X - t(v)); y4 = colSums(X - u); y5 = sum(X - t(v))
  y6 = sum(X + u); y7 = rowSums(X - sum(v)); y8 = colSums(X + sum(v)); y9 = sum(X - sum(v)); y0 = sum((X - t(v)) %*% v)
  x9 = (X - u / 0) %*% v; x0 = (X - 1) %*% (v / 0)
  r1 = X[1:3, ] %*% t(X[2:6, ]); r2 = X[, 1:2] %*% v[1:2, ]
)";

class SparseMix : public testing::TestWithParam<std::tuple<double, double, CompileWhen>> {};

TEST_P(SparseMix, GivesWhatDenseMatricesGive) {
  auto [left, right, compile] = GetParam();
  ScriptSession::Variables dense;
  dense["X"] = randomCells(6, 5, left, 1);
  dense["Y"] = randomCells(6, 5, right, 2);
  dense["u"] = randomCells(6, 1, 1, 3);
  dense["v"] = randomCells(5, 1, 1, 4);
  ScriptSession::Variables factors = dense;
  for (auto [name, rows] : {std::pair("U", 6), std::pair("V", 5)}) {
    Tensor cells = randomCells(rows, 3, 1, rows);
    for (int64_t i = 0; i < cells.elements(); ++i)
      cells.as<double>()[i] = std::abs(cells.as<double>()[i]);
    dense[name] = cells;
  }
  ScriptSession::Variables mixed = dense;
  if (left < 1)
    mixed["X"] = CsrMatrix::fromDense(dense["X"].dense("X"));
  if (right < 1)
    mixed["Y"] = CsrMatrix::fromDense(dense["Y"].dense("Y"));
  Ran expected = runScript(kScript, CompileWhen::Never, dense);
  Ran found = runScript(kScript, compile, mixed);
  for (const auto &[name, value] : expected.variables) {
    bool matrix = value.matrix();
    std::vector<double> a = matrix ? expected.cells(name) : std::vector{expected.number(name)};
    std::vector<double> b = matrix ? found.cells(name) : std::vector{found.number(name)};
    ASSERT_EQ(a.size(), b.size()) << name;
    for (size_t i = 0; i < a.size(); ++i)
      if (a[i] != b[i] && !(std::isnan(a[i]) && std::isnan(b[i])))
        EXPECT_NEAR(a[i], b[i], 1e-12 * (1 + std::abs(a[i]))) << name << "[" << i << "]";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SparseMix,
                         testing::Values(std::tuple(0.3, 0.3, CompileWhen::Never),
                                         std::tuple(0.3, 1.0, CompileWhen::Never),
                                         std::tuple(1.0, 0.3, CompileWhen::Never),
                                         std::tuple(0.0, 0.3, CompileWhen::Never),
                                         std::tuple(0.3, 0.0, CompileWhen::Never),
                                         std::tuple(0.0, 0.0, CompileWhen::Never),
                                         std::tuple(0.3, 1.0, CompileWhen::Always),
                                         std::tuple(0.3, 0.3, CompileWhen::Always)));

TEST(SparsePlans, CompressedMatricesAreTheirOperands) {
  Ran ran = runScript(
      "X = rand(rows=9, cols=4, seed=1); C = compress(X); s = sum(abs(decompress(C) * 2 - 2 * X))");
  EXPECT_EQ(ran.number("s"), 0);
}

TEST(SparsePlans, AShiftedMatrixIsNeverBuilt) {
  // 200,000 x 200,000 cells would be 320 GB.
  Ran ran = runScript(R"(
    n = 200000
    X = rand(rows=n, cols=n, sparsity=0.0000005, seed=1, min=1, max=1)
    P = rand(rows=n, cols=2, seed=2)
    Y = (X - colMeans(X)) %*% P
    Z = t(X - 0.5) %*% P
    W = t(X) %*% P
    e = sum(abs(Z - W + 0.5 * colSums(P)))
    d = sum((X - P[, 1]) %*% P) - sum(X %*% P) + sum(P[, 1]) * sum(P)
    s = sum((X - colMeans(X)) ^ 2)
    k = sum(X)
  )");
  EXPECT_NEAR(ran.number("e"), 0, 1e-3);
  EXPECT_NEAR(ran.number("d"), 0, 1e-3);
  EXPECT_NEAR(ran.number("s"), ran.number("k"), 10);
}

TEST(SparsePlans, AProductUnderASparseMatrixIsNeverBuilt) {
  // 200,000 x 200,000 cells would be 320 GB.
  Ran ran = runScript(R"(
    n = 200000
    X = rand(rows=n, cols=n, sparsity=0.0000005, seed=1, min=1, max=1)
    U = rand(rows=n, cols=4, seed=2); V = rand(rows=n, cols=4, seed=3)
    s = sum(X * log(U %*% t(V) + 1e-15))
    W = X * (U %*% t(V))
    k = sum(X)
  )");
  EXPECT_GT(ran.number("k"), 15000);
  EXPECT_TRUE(std::isfinite(ran.number("s")));
  EXPECT_TRUE(ran.variables.at("W").sparse());
}

TEST(SparsePlans, SumsCountCellsThatAreNotStored) {
  // 200,000 x 200,000 cells would be 320 GB.
  Ran ran = runScript(R"(
    n = 200000
    X = rand(rows=n, cols=n, sparsity=0.0000005, seed=1, min=1, max=2)
    zeros = sum(X == 0)
    others = sum(X != 0)
    rows = rowSums(exp(X) >= 1)
    cols = colSums(1 - X)
    Y = ifelse(X > 1.5, X, 0)
  )");
  EXPECT_GT(ran.number("others"), 15000);
  EXPECT_EQ(ran.number("zeros") + ran.number("others"), 4e10);
  Tensor rows = ran.variables.at("rows").dense("rows");
  EXPECT_EQ(rows.as<double>()[0], 200000);
  EXPECT_EQ(rows.as<double>()[199999], 200000);
  EXPECT_LE(ran.variables.at("cols").dense("cols").as<double>()[0], 200000);
  EXPECT_TRUE(ran.variables.at("Y").sparse());
}

} // namespace
} // namespace headrace::script
