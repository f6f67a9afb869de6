#include "runtime/sparse/NonFinite.h"
#include "runtime/sparse/Products.h"
#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>

namespace headrace::sparse {

namespace {

using Column = CsrMatrix::Column;

/// One row of the result while it is summed: dense, with a list of the columns it has touched.
class RowAccumulator {
public:
  explicit RowAccumulator(int64_t cols) : sums(cols), lastRow(cols, -1) {}

  void add(int64_t row, Column column, double value) {
    if (lastRow[column] == row) {
      sums[column] += value;
      return;
    }
    lastRow[column] = row;
    sums[column] = value;
    touched.push_back(column);
  }

  /// Gives the row away in order and is ready for the next.
  void flush(int64_t row, RowSink &sink) {
    constexpr size_t sortingCost = 16; // of one column, compared with a look at one cell
    if (touched.size() > sums.size() / sortingCost) {
      for (size_t column = 0; column < sums.size(); ++column)
        if (lastRow[column] == row)
          sink.append(static_cast<Column>(column), sums[column]);
    } else {
      std::sort(touched.begin(), touched.end());
      for (Column column : touched)
        sink.append(column, sums[column]);
    }
    touched.clear();
    sink.endRow();
  }

private:
  std::vector<double> sums;
  std::vector<int64_t> lastRow;
  std::vector<Column> touched;
};

/// How many multiplications the product takes.
int64_t multiplications(const CsrMatrix &a, const CsrMatrix &b) {
  int64_t count = 0;
  for (Column column : a.columns())
    count += b.offsets()[column + 1] - b.offsets()[column];
  return count;
}

/// Makes NaN of what meets 0 * NaN or 0 * infinity at cells that are not stored.
class UnstoredCells {
public:
  UnstoredCells(const CsrMatrix &a, const CsrMatrix &b) : a(a), b(b) {
    leftFinite = allFinite(a.values());
    if (!allFinite(b.values()))
      for (int64_t row = 0; row < b.rows(); ++row)
        for (size_t e = 0; e < b.valuesOf(row).size(); ++e)
          if (!std::isfinite(b.valuesOf(row)[e])) {
            columnsAt[row].push_back(b.columnsOf(row)[e]);
            ++expected[b.columnsOf(row)[e]];
          }
  }

  void add(int64_t row, RowAccumulator &accumulator) const {
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    std::span<const Column> columns = a.columnsOf(row);
    for (size_t e = 0; !leftFinite && e < columns.size(); ++e) {
      if (std::isfinite(a.valuesOf(row)[e]))
        continue;
      std::span<const Column> stored = b.columnsOf(columns[e]);
      for (Column column = 0; column < b.cols(); ++column) {
        if (!stored.empty() && stored.front() == column)
          stored = stored.subspan(1);
        else
          accumulator.add(row, column, nan);
      }
    }
    if (expected.empty())
      return;
    std::map<Column, int64_t> missing = expected;
    for (Column column : columns)
      if (auto found = columnsAt.find(column); found != columnsAt.end())
        for (Column met : found->second)
          --missing[met];
    for (auto [column, count] : missing)
      if (count > 0)
        accumulator.add(row, column, nan);
  }

private:
  const CsrMatrix &a, &b;
  bool leftFinite;
  std::map<int64_t, std::vector<Column>> columnsAt; // of b's row: if it is not finite
  std::map<Column, int64_t> expected;               // of b's column: how often it is not finite
};

} // namespace

CsrMatrix product(const CsrMatrix &a, const CsrMatrix &b, ThreadPool &pool) {
  if (a.cols() != b.rows())
    throw Error(ErrorKind::ShapeMismatch, "matrix product: expected " + std::to_string(a.cols()) +
                                              " rows on the right, got " +
                                              std::to_string(b.rows()));
  std::vector<std::unique_ptr<RowAccumulator>> accumulators(pool.threads());
  UnstoredCells unstored(a, b);
  return buildRows(a.rows(), b.cols(), multiplications(a, b) + a.rows(), pool,
                   [&](int64_t begin, int64_t end, int worker, RowSink &sink) {
                     auto &accumulator = accumulators[worker];
                     if (!accumulator)
                       accumulator = std::make_unique<RowAccumulator>(b.cols());
                     for (int64_t row = begin; row < end; ++row) {
                       for (int64_t e = a.offsets()[row]; e < a.offsets()[row + 1]; ++e) {
                         Column inner = a.columns()[e];
                         std::span<const Column> columns = b.columnsOf(inner);
                         std::span<const double> values = b.valuesOf(inner);
                         for (size_t f = 0; f < columns.size(); ++f)
                           accumulator->add(row, columns[f], a.values()[e] * values[f]);
                       }
                       unstored.add(row, *accumulator);
                       accumulator->flush(row, sink);
                     }
                   });
}

} // namespace headrace::sparse
