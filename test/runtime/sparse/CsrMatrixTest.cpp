#include "runtime/sparse/CsrMatrix.h"

#include "runtime/sparse/Matrices.h"

#include <limits>

namespace headrace {
namespace {

using namespace test;

TEST(CsrMatrix, SurviveDenseAndBack) {
  forMatrices([](const Plain &plain) {
    CsrMatrix sparse = plain.sparse();
    expectSparse(sparse, plain);
    EXPECT_EQ(sparse.nonzeros(), std::count_if(plain.cells.begin(), plain.cells.end(),
                                               [](double cell) { return cell != 0; }));
    for (int64_t i = 0; i < plain.rows; ++i)
      for (int64_t j = 0; j < plain.cols; ++j)
        ASSERT_EQ(sparse.at(i, j), plain.at(i, j));
    expectSameForAnyThreads([&](ThreadPool &pool) { return sparse.toDense(pool); });
    expectSameForAnyThreads(
        [&](ThreadPool &pool) { return CsrMatrix::fromDense(plain.tensor(), pool); });
  });
}

TEST(CsrMatrix, ComeFromCellsInAnyOrder) {
  forMatrices([](const Plain &plain) {
    std::vector<std::array<int64_t, 2>> places;
    for (int64_t i = 0; i < plain.rows; ++i)
      for (int64_t j = 0; j < plain.cols; ++j)
        places.push_back({i, j});
    std::shuffle(places.begin(), places.end(), std::mt19937(3));
    std::vector<int64_t> rows, cols;
    std::vector<double> values;
    for (auto [i, j] : places)
      for (double part : {1.0, plain.at(i, j) - 1}) { // every cell twice
        rows.push_back(i);
        cols.push_back(j);
        values.push_back(part);
      }
    expectSparse(CsrMatrix::fromCells(plain.rows, plain.cols, rows, cols, values), plain);
    expectSameForAnyThreads([&](ThreadPool &pool) {
      return CsrMatrix::fromCells(plain.rows, plain.cols, rows, cols, values, pool);
    });
  });
}

Tensor longs(std::vector<int64_t> values) {
  auto size = static_cast<int64_t>(values.size());
  return tensorOf(DType::I64, {size}, values);
}
Tensor ints(std::vector<int32_t> values) {
  auto size = static_cast<int64_t>(values.size());
  return tensorOf(DType::I32, {size}, values);
}
Tensor doubles(std::vector<double> values) {
  auto size = static_cast<int64_t>(values.size());
  return tensorOf(DType::F64, {size}, values);
}

TEST(CsrMatrix, TakesGoodArraysWithoutACopy) {
  Tensor offsets = longs({0, 1, 3}), columns = ints({2, 0, 1}), values = doubles({1, 2, 3});
  CsrMatrix matrix = CsrMatrix::fromArrays(2, 3, offsets, columns, values);
  EXPECT_EQ(matrix.values().data(), values.as<double>());
  EXPECT_EQ(matrix.columns().data(), columns.as<int32_t>());
  EXPECT_EQ(Plain(matrix).cells, (std::vector<double>{0, 0, 1, 2, 3, 0}));
}

TEST(CsrMatrix, BringsForeignArraysIntoItsForm) {
  // Unsorted, a repeated cell, stored zeros, other index types, f32.
  CsrMatrix matrix = CsrMatrix::fromArrays(2, 4, ints({0, 4, 5}), longs({3, 0, 3, 1, 2}),
                                           tensorOf<float>(DType::F32, {5}, {1, 2, 0.5f, 0, 4}));
  expectWellFormed(matrix);
  EXPECT_EQ(Plain(matrix).cells, (std::vector<double>{2, 0, 0, 1.5, 0, 0, 4, 0}));
  CsrMatrix sorted = CsrMatrix::fromArrays(1, 3, ints({0, 2}), ints({0, 2}), doubles({0, 7}));
  EXPECT_EQ(sorted.nonzeros(), 1);
  EXPECT_EQ(sorted.at(0, 2), 7);
}

TEST(CsrMatrix, RefusesArraysThatAreNoMatrix) {
  auto refusal = [](int64_t rows, int64_t cols, Tensor offsets, Tensor columns, Tensor values,
                    ErrorKind kind = ErrorKind::InvalidArgument) {
    return errorOf(kind, [&] { CsrMatrix::fromArrays(rows, cols, offsets, columns, values); });
  };
  EXPECT_CONTAINS(refusal(2, 2, ints({0, 1}), ints({0}), doubles({1})), "3 row offsets");
  EXPECT_CONTAINS(refusal(1, 2, ints({0, 2}), ints({0}), doubles({1})), "from 0 to 1");
  EXPECT_CONTAINS(refusal(1, 2, ints({-1, 1}), ints({0}), doubles({1})), "got -1 to 1");
  EXPECT_CONTAINS(refusal(2, 2, ints({0, 5, 1}), ints({0}), doubles({1})), "5 before 1");
  EXPECT_CONTAINS(refusal(1, 2, ints({0, 1}), ints({2}), doubles({1})), "below 2, got 2");
  EXPECT_CONTAINS(refusal(1, 2, ints({0, 1}), ints({-1}), doubles({1})), "got -1");
  EXPECT_CONTAINS(refusal(1, 2, ints({0, 1}), longs({int64_t{1} << 32}), doubles({1})),
                  "4294967296");
  EXPECT_CONTAINS(refusal(1, 2, ints({0, 1}), ints({0, 1}), doubles({1})), "as many column");
  EXPECT_CONTAINS(refusal(-1, 2, ints({0}), ints({}), doubles({})), "0 or more");
  refusal(1, int64_t{1} << 31, ints({0, 0}), ints({}), doubles({}), ErrorKind::Unsupported);
  refusal(int64_t{1} << 62, 8, ints({0, 0}), ints({}), doubles({}));
  refusal(std::numeric_limits<int64_t>::max(), 0, ints({0}), ints({}), doubles({}),
          ErrorKind::Unsupported);
  refusal(1, 2, doubles({0, 1}), ints({0}), doubles({1}), ErrorKind::TypeMismatch);
  refusal(1, 2, ints({0, 1}), ints({0}), ints({1}), ErrorKind::TypeMismatch);
  refusal(1, 2, ints({0, 1}), ints({0}), tensorOf<double>(DType::F64, {1, 1}, {1}),
          ErrorKind::ShapeMismatch);
}

TEST(CsrMatrix, RefusesCellsOutsideOfIt) {
  auto refusal = [](std::vector<int64_t> rows, std::vector<int64_t> cols,
                    std::vector<double> values) {
    return errorOf(ErrorKind::InvalidArgument,
                   [&] { CsrMatrix::fromCells(2, 3, rows, cols, values); });
  };
  EXPECT_CONTAINS(refusal({2}, {0}, {1}), "row indices from 0 to below 2, got 2");
  EXPECT_CONTAINS(refusal({0, 0}, {0, -1}, {1, 1}), "got -1 at position 1");
  EXPECT_CONTAINS(refusal({0}, {0, 1}, {1, 1}), "got 1 and 2");
}

TEST(CsrMatrix, RefusesDenseOfOtherKinds) {
  errorOf(ErrorKind::ShapeMismatch, [] { CsrMatrix::fromDense(doubles({1, 2})); });
  errorOf(ErrorKind::TypeMismatch, [] { CsrMatrix::fromDense(floats({1, 1}, {1})); });
}

TEST(CsrMatrix, KeepsNanAndInfinityAndDropsBothZeros) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Tensor dense = tensorOf<double>(DType::F64, {1, 5}, {nan, -0.0, inf, 0.0, -inf});
  CsrMatrix sparse = CsrMatrix::fromDense(dense);
  EXPECT_EQ(sparse.nonzeros(), 3);
  EXPECT_TRUE(std::isnan(sparse.at(0, 0)));
  EXPECT_EQ(sparse.at(0, 2), inf);
  EXPECT_EQ(sparse.at(0, 4), -inf);
  EXPECT_FALSE(std::signbit(sparse.toDense().as<double>()[1]));
}

TEST(CsrMatrix, CopiesAndPatternsShareMemory) {
  CsrMatrix matrix = randomPlain(9, 9, 0.3, 1).sparse();
  CsrMatrix other = matrix.withValues(Tensor::allocate(DType::F64, {matrix.nonzeros()}));
  EXPECT_EQ(other.columns().data(), matrix.columns().data());
  EXPECT_THROW(matrix.withValues(doubles({})), InternalError);
  EXPECT_THROW(matrix.at(9, 0), InternalError);
}

TEST(CsrMatrix, SparseIsPreferredBelowTheDensity) {
  EXPECT_TRUE(preferSparse(10, 10, 39));
  EXPECT_FALSE(preferSparse(10, 10, 40));
  EXPECT_FALSE(preferSparse(1000, 1, 0));
  EXPECT_FALSE(preferSparse(0, 5, 0));
  EXPECT_TRUE(preferSparse(int64_t{1} << 40, int64_t{1} << 30, 5));
}

} // namespace
} // namespace headrace
