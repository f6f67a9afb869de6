#include "runtime/sparse/Structure.h"

#include "runtime/sparse/Matrices.h"

#include <array>

namespace headrace {
namespace {

using namespace test;

TEST(Structure, Transposes) {
  forMatrices([](const Plain &plain) {
    expectSparse(sparse::transpose(plain.sparse()), plain.transposed());
  });
}

TEST(Structure, Slices) {
  forMatrices([](const Plain &plain) {
    for (sparse::Range rows : {sparse::Range{0, plain.rows},
                               {plain.rows / 3, plain.rows},
                               {plain.rows / 2, plain.rows / 2},
                               {0, plain.rows / 2}})
      for (sparse::Range cols : {sparse::Range{0, plain.cols},
                                 {plain.cols / 3, plain.cols},
                                 {plain.cols / 2, plain.cols / 2},
                                 {0, plain.cols / 2}}) {
        Plain expected(rows.end - rows.begin, cols.end - cols.begin);
        for (int64_t i = rows.begin; i < rows.end; ++i)
          for (int64_t j = cols.begin; j < cols.end; ++j)
            expected.at(i - rows.begin, j - cols.begin) = plain.at(i, j);
        expectSparse(sparse::slice(plain.sparse(), rows, cols), expected);
      }
  });
}

TEST(Structure, Binds) {
  forMatrices([](const Plain &a) {
    for (auto [moreRows, moreCols] : {std::array{0, 0}, {1, 3}, {20, 1}}) {
      Plain right = randomPlain(a.rows, moreCols, 0.3, 2);
      Plain below = randomPlain(moreRows, a.cols, 0.3, 3);
      Plain wide(a.rows, 2 * a.cols + moreCols), tall(2 * a.rows + moreRows, a.cols);
      for (int64_t i = 0; i < wide.rows; ++i)
        for (int64_t j = 0; j < wide.cols; ++j)
          wide.at(i, j) = j < a.cols              ? a.at(i, j)
                          : j < a.cols + moreCols ? right.at(i, j - a.cols)
                                                  : a.at(i, j - a.cols - moreCols);
      for (int64_t i = 0; i < tall.rows; ++i)
        for (int64_t j = 0; j < tall.cols; ++j)
          tall.at(i, j) = i < a.rows              ? a.at(i, j)
                          : i < a.rows + moreRows ? below.at(i - a.rows, j)
                                                  : a.at(i - a.rows - moreRows, j);
      expectSparse(sparse::bindColumns(std::array{a.sparse(), right.sparse(), a.sparse()}), wide);
      expectSparse(sparse::bindRows(std::array{a.sparse(), below.sparse(), a.sparse()}), tall);
    }
  });
}

TEST(Structure, WholeRowsShareTheMemory) {
  CsrMatrix matrix = randomPlain(20, 20, 0.5, 1).sparse();
  CsrMatrix rows = sparse::slice(matrix, {5, 10}, {0, 20});
  EXPECT_EQ(rows.values().data(), matrix.values().data() + matrix.offsets()[5]);
}

TEST(Structure, ThreadsDoNotChangeTheBits) {
  CsrMatrix matrix = randomFractions(700, 100, 0.5, 1).sparse();
  std::array both{matrix, matrix};
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::transpose(matrix, pool); });
  expectSameForAnyThreads(
      [&](ThreadPool &pool) { return sparse::slice(matrix, {3, 600}, {10, 90}, pool); });
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::bindColumns(both, pool); });
  expectSparse(sparse::transpose(matrix), Plain(matrix).transposed());
}

TEST(Structure, RefusesWhatDoesNotFit) {
  CsrMatrix a = randomPlain(3, 4, 0.5, 1).sparse();
  auto refusal = [](ErrorKind kind, auto action) { return errorOf(kind, action); };
  EXPECT_CONTAINS(refusal(ErrorKind::InvalidArgument, [&] { sparse::slice(a, {0, 4}, {0, 4}); }),
                  "rows within 0 to 3, got 0 to 4");
  refusal(ErrorKind::InvalidArgument, [&] { sparse::slice(a, {0, 3}, {-1, 4}); });
  refusal(ErrorKind::InvalidArgument, [&] { sparse::slice(a, {2, 1}, {0, 4}); });
  std::array parts{a, CsrMatrix::empty(4, 3)};
  EXPECT_CONTAINS(refusal(ErrorKind::ShapeMismatch, [&] { sparse::bindColumns(parts); }),
                  "rows, got 3 and 4");
  EXPECT_CONTAINS(refusal(ErrorKind::ShapeMismatch, [&] { sparse::bindRows(parts); }),
                  "columns, got 4 and 3");
  std::array wide{CsrMatrix::empty(1, 2'000'000'000), CsrMatrix::empty(1, 2'000'000'000)};
  refusal(ErrorKind::Unsupported, [&] { sparse::bindColumns(wide); });
}

} // namespace
} // namespace headrace
