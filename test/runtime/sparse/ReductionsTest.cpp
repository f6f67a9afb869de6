#include "runtime/sparse/Reductions.h"

#include "runtime/sparse/Matrices.h"

#include <limits>

namespace headrace {
namespace {

using namespace test;
using sparse::Aggregate;

constexpr Aggregate aggregates[] = {Aggregate::Sum, Aggregate::SumOfSquares, Aggregate::Mean,
                                    Aggregate::Minimum, Aggregate::Maximum};

double aggregate(Aggregate kind, const std::vector<double> &cells) {
  double inf = std::numeric_limits<double>::infinity();
  double sum = 0, squares = 0, least = inf, most = -inf;
  for (double cell : cells) {
    sum += cell;
    squares += cell * cell;
    least = std::isnan(cell) || std::isnan(least) ? std::nan("") : std::min(least, cell);
    most = std::isnan(cell) || std::isnan(most) ? std::nan("") : std::max(most, cell);
  }
  switch (kind) {
  case Aggregate::Sum:
    return sum;
  case Aggregate::SumOfSquares:
    return squares;
  case Aggregate::Mean:
    return sum / static_cast<double>(cells.size());
  case Aggregate::Minimum:
    return least;
  case Aggregate::Maximum:
    return most;
  }
  return 0;
}

void expectAggregates(const Plain &plain) {
  CsrMatrix matrix = plain.sparse();
  for (Aggregate kind : aggregates) {
    Plain all(1, 1), rows(plain.rows, 1), cols(1, plain.cols);
    all.at(0, 0) = aggregate(kind, plain.cells);
    for (int64_t i = 0; i < plain.rows; ++i)
      rows.at(i, 0) = aggregate(
          kind, {plain.cells.begin() + i * plain.cols, plain.cells.begin() + (i + 1) * plain.cols});
    Plain turned = plain.transposed();
    for (int64_t j = 0; j < plain.cols; ++j)
      cols.at(0, j) = aggregate(kind, {turned.cells.begin() + j * plain.rows,
                                       turned.cells.begin() + (j + 1) * plain.rows});
    Plain actual(1, 1);
    actual.at(0, 0) = sparse::reduce(kind, matrix);
    expectCells(actual, all);
    expectCells(Plain(sparse::reduceRows(kind, matrix)), rows);
    expectCells(Plain(sparse::reduceColumns(kind, matrix)), cols);
  }
}

TEST(Reductions, MatchPlainLoops) {
  forMatrices([](const Plain &plain) { expectAggregates(plain); });
}

TEST(Reductions, CountTheZerosOfOneSign) {
  forMatrices([](const Plain &plain) {
    Plain positive = plain, negative = plain;
    for (double &cell : positive.cells)
      cell = std::abs(cell);
    for (double &cell : negative.cells)
      cell = -std::abs(cell);
    expectAggregates(positive);
    expectAggregates(negative);
  });
}

TEST(Reductions, ManyRowsAreReducedInParts) { expectAggregates(randomPlain(3000, 50, 0.3, 4)); }

TEST(Reductions, PassNanAndInfinityOn) {
  double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  Plain plain(3, 3);
  plain.cells = {nan, 0, 1, inf, 2, 0, 0, -inf, 0};
  expectAggregates(plain);
}

TEST(Reductions, ThreadsDoNotChangeTheBits) {
  CsrMatrix matrix = randomFractions(3000, 50, 0.5, 4).sparse();
  for (Aggregate kind : aggregates) {
    expectSameForAnyThreads(
        [&](ThreadPool &pool) { return sparse::reduceRows(kind, matrix, pool); });
    expectSameForAnyThreads(
        [&](ThreadPool &pool) { return sparse::reduceColumns(kind, matrix, pool); });
    expectSameForAnyThreads([&](ThreadPool &pool) {
      return tensorOf<double>(DType::F64, {1}, {sparse::reduce(kind, matrix, pool)});
    });
  }
}

} // namespace
} // namespace headrace
