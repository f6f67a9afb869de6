#include "runtime/sparse/Elementwise.h"

#include "runtime/sparse/Matrices.h"

#include <limits>

namespace headrace {
namespace {

using namespace test;
using sparse::Binary;

struct NamedBinary {
  Binary function;
  double (*plain)(double, double);
};

const NamedBinary binaries[] = {
    {Binary::Add, [](double x, double y) { return x + y; }},
    {Binary::Subtract, [](double x, double y) { return x - y; }},
    {Binary::Multiply, [](double x, double y) { return x * y; }},
    {Binary::Minimum,
     [](double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::min(x, y); }},
    {Binary::Maximum,
     [](double x, double y) { return std::isnan(x) || std::isnan(y) ? NAN : std::max(x, y); }},
    {Binary::NotEqual, [](double x, double y) -> double { return x != y; }},
    {Binary::Less, [](double x, double y) -> double { return x < y; }},
    {Binary::Greater, [](double x, double y) -> double { return x > y; }},
    {Binary::And, [](double x, double y) -> double { return x != 0 && y != 0; }},
    {Binary::Or, [](double x, double y) -> double { return x != 0 || y != 0; }},
};

void expectCombined(const Plain &a, const Plain &b) {
  for (const NamedBinary &binary : binaries) {
    Plain expected(a.rows, a.cols);
    for (size_t i = 0; i < a.cells.size(); ++i)
      expected.cells[i] = binary.plain(a.cells[i], b.cells[i]);
    expectSparse(sparse::combine(binary.function, a.sparse(), b.sparse()), expected);
  }
}

TEST(Elementwise, CombinesWithEveryDensity) {
  forMatrices([](const Plain &a) {
    for (double density : {0.0, 0.01, 0.3, 1.0}) {
      Plain b = randomPlain(a.rows, a.cols, density, 2);
      expectCombined(a, b);
      expectCombined(b, a);
    }
    Plain negated = a;
    for (double &cell : negated.cells)
      cell = -cell;
    expectCombined(a, negated); // sums that vanish
  });
}

TEST(Elementwise, MultipliesAndDividesByDense) {
  forMatrices([](const Plain &x) {
    for (auto [rows, cols] :
         {std::pair{x.rows, x.cols}, {int64_t{1}, x.cols}, {x.rows, int64_t{1}}, {1L, 1L}}) {
      Plain factor = randomPlain(rows, cols, 0.5, 2), divisor = randomPlain(rows, cols, 1, 3);
      Plain products(x.rows, x.cols), quotients(x.rows, x.cols);
      for (int64_t i = 0; i < x.rows; ++i)
        for (int64_t j = 0; j < x.cols; ++j) {
          int64_t row = rows == 1 ? 0 : i, col = cols == 1 ? 0 : j;
          products.at(i, j) = x.at(i, j) * factor.at(row, col);
          quotients.at(i, j) = x.at(i, j) / divisor.at(row, col);
        }
      expectSparse(sparse::multiply(x.sparse(), factor.tensor()), products);
      expectSparse(sparse::divide(x.sparse(), divisor.tensor()), quotients);
    }
  });
}

TEST(Elementwise, MapsStoredValues) {
  forMatrices([](const Plain &x) {
    Plain expected = x;
    for (double &cell : expected.cells)
      cell = std::max(cell, 0.0) * 2;
    auto map = [](std::span<const double> in, std::span<double> out) {
      ASSERT_EQ(in.size(), out.size());
      for (size_t i = 0; i < in.size(); ++i)
        out[i] = std::max(in[i], 0.0) * 2;
    };
    expectSparse(sparse::mapNonzeros(x.sparse(), map), expected);
  });
}

TEST(Elementwise, NanAndInfinityCountWhereTheyAreStored) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Plain a(1, 6), b(1, 6);
  a.cells = {nan, 0, inf, nan, 1, 0};
  b.cells = {0, nan, 0, nan, inf, -inf};
  expectCombined(a, b);
  CsrMatrix product = sparse::multiply(a.sparse(), b.tensor());
  EXPECT_TRUE(std::isnan(product.at(0, 0))); // stored NaN times 0
  EXPECT_EQ(product.at(0, 1), 0);            // not stored, times NaN
  EXPECT_EQ(product.at(0, 4), inf);
  EXPECT_EQ(product.at(0, 5), 0);
}

TEST(Elementwise, ThreadsDoNotChangeTheBits) {
  CsrMatrix a = randomFractions(400, 300, 0.3, 1).sparse();
  CsrMatrix b = randomFractions(400, 300, 0.2, 2).sparse();
  Tensor dense = randomFractions(400, 300, 0.9, 3).tensor();
  expectSameForAnyThreads(
      [&](ThreadPool &pool) { return sparse::combine(Binary::Add, a, b, pool); });
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::multiply(a, dense, pool); });
  auto square = [](std::span<const double> in, std::span<double> out) {
    for (size_t i = 0; i < in.size(); ++i)
      out[i] = in[i] * in[i];
  };
  expectSameForAnyThreads([&](ThreadPool &pool) { return sparse::mapNonzeros(a, square, pool); });
}

TEST(Elementwise, RefusesSizesThatDoNotFit) {
  CsrMatrix a = randomPlain(3, 4, 0.5, 1).sparse();
  auto refusal = [](auto action) { return errorOf(ErrorKind::ShapeMismatch, action); };
  EXPECT_CONTAINS(refusal([&] { sparse::combine(Binary::Add, a, CsrMatrix::empty(4, 3)); }),
                  "got 3x4 and 4x3");
  EXPECT_CONTAINS(refusal([&] { sparse::multiply(a, randomPlain(3, 3, 1, 1).tensor()); }),
                  "got 3x3");
  EXPECT_CONTAINS(refusal([&] { sparse::divide(a, randomPlain(2, 4, 1, 1).tensor()); }), "got 2x4");
}

} // namespace
} // namespace headrace
