#include "runtime/sparse/Products.h"

#include "runtime/sparse/Matrices.h"

#include <limits>

namespace headrace {
namespace {

using namespace test;

// Widths on both sides of every choice the products make.
constexpr int64_t widths[] = {0, 1, 2, 7, 16, 40};

TEST(Products, SparseTimesDense) {
  forMatrices([](const Plain &a) {
    for (int64_t width : widths) {
      Plain b = randomPlain(a.cols, width, 0.9, 2);
      expectCells(Plain(sparse::product(a.sparse(), b.tensor())), a.times(b));
    }
  });
}

TEST(Products, TransposedTimesDense) {
  forMatrices([](const Plain &a) {
    for (int64_t width : widths) {
      Plain b = randomPlain(a.rows, width, 0.9, 2);
      expectCells(Plain(sparse::transposedProduct(a.sparse(), b.tensor())),
                  a.transposed().times(b));
    }
  });
}

TEST(Products, DenseTimesSparse) {
  forMatrices([](const Plain &b) {
    for (int64_t rows : widths) {
      Plain a = randomPlain(rows, b.rows, 0.9, 2);
      expectCells(Plain(sparse::product(a.tensor(), b.sparse())), a.times(b));
    }
  });
}

TEST(Products, SparseTimesSparse) {
  forMatrices([](const Plain &a) {
    for (double density : {0.0, 0.02, 0.5})
      for (int64_t width : {0, 1, 150}) {
        Plain b = randomPlain(a.cols, width, density, 2);
        expectSparse(sparse::product(a.sparse(), b.sparse()), a.times(b));
      }
  });
}

TEST(Products, SampledKeepsThePattern) {
  forMatrices([](const Plain &pattern) {
    for (int64_t rank : {0, 1, 5, 19}) {
      Plain u = randomPlain(pattern.rows, rank, 0.5, 2),
            v = randomPlain(pattern.cols, rank, 0.5, 3);
      CsrMatrix x = pattern.sparse();
      CsrMatrix result = sparse::sampledProduct(x, u.tensor(), v.tensor());
      EXPECT_EQ(result.columns().data(), x.columns().data());
      Plain expected = u.times(v.transposed());
      for (int64_t i = 0; i < pattern.rows; ++i)
        for (int64_t j = 0; j < pattern.cols; ++j)
          if (pattern.at(i, j) == 0)
            expected.at(i, j) = 0;
      expectCells(Plain(result), expected);
    }
  });
}

TEST(Products, ThreadsDoNotChangeTheBits) {
  Plain a = randomFractions(900, 120, 0.3, 1);
  CsrMatrix x = a.sparse();
  for (int64_t width : {1, 3, 40}) {
    Tensor right = randomFractions(120, width, 1, 2).tensor();
    Tensor below = randomFractions(900, width, 1, 3).tensor();
    Tensor left = randomFractions(width, 900, 1, 4).tensor();
    expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::product(x, right, pool); });
    expectSameForAnyThreads(
        [&](ThreadPool &pool) { return sparse::transposedProduct(x, below, pool); });
    expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::product(left, x, pool); });
  }
  CsrMatrix y = randomFractions(120, 300, 0.1, 5).sparse();
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::product(x, y, pool); });
  Tensor u = randomFractions(900, 20, 1, 6).tensor(), v = randomFractions(120, 20, 1, 7).tensor();
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::sampledProduct(x, u, v, pool); });
}

/// Row by row, every cell of both: what the formats must not change.
static std::vector<double> plainProduct(const Plain &a, const Plain &b) {
  std::vector<double> cells;
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.cols; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.cols; ++k)
        sum += a.cells[i * a.cols + k] * b.cells[k * b.cols + j];
      cells.push_back(sum);
    }
  return cells;
}

static void expectCells(const Tensor &found, const std::vector<double> &expected) {
  std::vector<double> cells = valuesOf<double>(found);
  ASSERT_EQ(cells.size(), expected.size());
  for (size_t i = 0; i < cells.size(); ++i)
    EXPECT_TRUE(cells[i] == expected[i] || (std::isnan(cells[i]) && std::isnan(expected[i])))
        << i << ": " << cells[i] << ", expected " << expected[i];
}

TEST(Products, ZerosThatAreNotStoredMeetNanAndInfinity) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Plain a(3, 4), b(4, 3), t(4, 3);
  a.cells = {1, 0, 0, nan, 0, inf, 0, 2, 3, 0, 0, 0};
  b.cells = {0, inf, 2, 0, 0, 0, nan, 0, 0, 1, 0, -inf};
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t j = 0; j < 3; ++j)
      t.cells[i * 3 + j] = a.cells[j * 4 + i];
  std::vector<double> expected = plainProduct(a, b);
  expectCells(sparse::product(a.sparse(), b.tensor()), expected);
  expectCells(sparse::transposedProduct(t.sparse(), b.tensor()), expected);
  expectCells(sparse::product(a.tensor(), b.sparse()), expected);
  expectCells(sparse::product(a.sparse(), b.sparse()).toDense(), expected);
}

TEST(Products, RefuseSizesThatDoNotFit) {
  CsrMatrix a = randomPlain(3, 4, 0.5, 1).sparse();
  Tensor b = randomPlain(5, 2, 0.5, 1).tensor();
  auto refusal = [](auto action) { return errorOf(ErrorKind::ShapeMismatch, action); };
  EXPECT_CONTAINS(refusal([&] { sparse::product(a, b); }), "expected 4 rows on the right, got 5");
  EXPECT_CONTAINS(refusal([&] { sparse::transposedProduct(a, b); }), "expected 3 rows");
  EXPECT_CONTAINS(refusal([&] { sparse::product(b, a); }), "expected 2 rows");
  EXPECT_CONTAINS(refusal([&] { sparse::product(a, a); }), "expected 4 rows");
  EXPECT_CONTAINS(refusal([&] { sparse::sampledProduct(a, b, b); }), "3 and 4 rows");
}

} // namespace
} // namespace headrace
