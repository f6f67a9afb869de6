#pragma once

#include "runtime/Helpers.h"
#include "runtime/sparse/CsrMatrix.h"
#include "runtime/system/ThreadPool.h"

#include <cmath>
#include <cstring>
#include <functional>
#include <random>

namespace headrace::test {

/// A dense matrix for plain loops.
struct Plain {
  int64_t rows = 0, cols = 0;
  std::vector<double> cells;

  Plain(int64_t rows, int64_t cols) : rows(rows), cols(cols), cells(rows * cols) {}
  explicit Plain(const Tensor &tensor) : Plain(tensor.shape().at(0), tensor.shape().at(1)) {
    cells = valuesOf<double>(tensor);
  }
  explicit Plain(const CsrMatrix &matrix) : Plain(matrix.toDense()) {}

  double &at(int64_t row, int64_t col) { return cells[row * cols + col]; }
  double at(int64_t row, int64_t col) const { return cells[row * cols + col]; }
  Tensor tensor() const { return tensorOf(DType::F64, {rows, cols}, cells); }
  CsrMatrix sparse() const { return CsrMatrix::fromDense(tensor()); }

  Plain transposed() const {
    Plain result(cols, rows);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < cols; ++j)
        result.at(j, i) = at(i, j);
    return result;
  }
  Plain times(const Plain &right) const {
    Plain result(rows, right.cols);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t k = 0; k < cols; ++k)
        for (int64_t j = 0; j < right.cols; ++j)
          result.at(i, j) += at(i, k) * right.at(k, j);
    return result;
  }
};

/// Integers, whose sums are exact in every order; about `density` of them not 0.
inline Plain randomPlain(int64_t rows, int64_t cols, double density, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<double> chance(0, 1);
  std::uniform_int_distribution<int> number(1, 9);
  Plain result(rows, cols);
  for (double &cell : result.cells)
    if (chance(engine) < density)
      cell = number(engine) * (chance(engine) < 0.5 ? -1 : 1);
  return result;
}

/// Numbers whose sums depend on their order.
inline Plain randomFractions(int64_t rows, int64_t cols, double density, unsigned seed) {
  Plain result = randomPlain(rows, cols, density, seed);
  std::mt19937 engine(seed + 1);
  std::uniform_real_distribution<double> number(0, 1);
  for (double &cell : result.cells)
    cell *= number(engine);
  return result;
}

/// Equal cells, NaN equal to NaN.
inline void expectCells(const Plain &actual, const Plain &expected) {
  ASSERT_EQ(actual.rows, expected.rows);
  ASSERT_EQ(actual.cols, expected.cols);
  for (int64_t i = 0; i < actual.rows; ++i)
    for (int64_t j = 0; j < actual.cols; ++j) {
      double a = actual.at(i, j), e = expected.at(i, j);
      ASSERT_TRUE(a == e || (std::isnan(a) && std::isnan(e)))
          << "cell (" << i << ", " << j << "): " << a << ", expected " << e;
    }
}

/// The rules of a CsrMatrix, beyond its cells: order, range, and no stored zero.
inline void expectWellFormed(const CsrMatrix &matrix) {
  ASSERT_EQ(matrix.offsets().front(), 0);
  ASSERT_EQ(matrix.offsets().back(), matrix.nonzeros());
  for (int64_t row = 0; row < matrix.rows(); ++row) {
    int64_t last = -1;
    for (int64_t column : matrix.columnsOf(row)) {
      ASSERT_GT(column, last);
      ASSERT_LT(column, matrix.cols());
      last = column;
    }
    for (double value : matrix.valuesOf(row))
      ASSERT_NE(value, 0);
  }
}

inline void expectSparse(const CsrMatrix &actual, const Plain &expected) {
  expectWellFormed(actual);
  expectCells(Plain(actual), expected);
}

inline bool sameBits(const Tensor &a, const Tensor &b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

inline bool sameBits(const CsrMatrix &a, const CsrMatrix &b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         sameBits(a.offsetArray(), b.offsetArray()) && sameBits(a.columnArray(), b.columnArray()) &&
         sameBits(a.valuesArray(), b.valuesArray());
}

/// Runs `compute` with 1, 2 and 3 threads and expects the same bits.
template <class Compute> void expectSameForAnyThreads(Compute compute) {
  ThreadPool one(1), two(2), three(3);
  auto expected = compute(one);
  EXPECT_TRUE(sameBits(compute(two), expected));
  EXPECT_TRUE(sameBits(compute(three), expected));
}

/// Calls `body` with matrices of every density and of ordinary, thin and empty shapes.
template <class Body> void forMatrices(Body body) {
  constexpr int64_t shapes[][2] = {{0, 5},  {5, 0},  {0, 0},   {1, 1},
                                   {1, 70}, {70, 1}, {17, 33}, {150, 130}};
  for (auto [rows, cols] : shapes)
    for (double density : {0.0, 0.01, 0.3, 1.0}) {
      SCOPED_TRACE(std::to_string(rows) + "x" + std::to_string(cols) + ", density " +
                   std::to_string(density));
      body(randomPlain(rows, cols, density, 1));
    }
}

} // namespace headrace::test
