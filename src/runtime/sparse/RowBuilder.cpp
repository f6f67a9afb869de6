#include "runtime/sparse/RowBuilder.h"

#include <algorithm>

namespace headrace::sparse {

namespace {

constexpr int64_t maxBlocks = 256;

/// The first row before which at least `work` was done.
int64_t rowAtWork(std::span<const int64_t> offsets, RowCost cost, int64_t work) {
  int64_t low = 0, high = static_cast<int64_t>(offsets.size()) - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (offsets[middle] * cost.perEntry + middle * cost.perRow < work)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

int64_t totalWork(const CsrMatrix &matrix, RowCost cost) {
  return matrix.nonzeros() * cost.perEntry + matrix.rows() * cost.perRow;
}

} // namespace

CsrMatrix joinRows(int64_t rows, int64_t cols, std::span<const RowSink> sinks, ThreadPool &pool) {
  std::vector<int64_t> firstRow, firstEntry;
  int64_t row = 0, entry = 0;
  for (const RowSink &sink : sinks) {
    firstRow.push_back(row);
    firstEntry.push_back(entry);
    row += static_cast<int64_t>(sink.rowEnds.size());
    entry += static_cast<int64_t>(sink.columns.size());
  }
  Tensor offsets = Tensor::allocate(DType::I64, {rows + 1});
  Tensor columns = Tensor::allocate(DType::I32, {entry});
  Tensor values = Tensor::allocate(DType::F64, {entry});
  offsets.as<int64_t>()[0] = 0;
  auto blocks = static_cast<int64_t>(sinks.size());
  pool.parallelFor(blocks, entry < grain ? blocks : 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t b = begin; b < end; ++b) {
      const RowSink &sink = sinks[b];
      std::copy(sink.columns.begin(), sink.columns.end(),
                columns.as<CsrMatrix::Column>() + firstEntry[b]);
      std::copy(sink.values.begin(), sink.values.end(), values.as<double>() + firstEntry[b]);
      std::transform(sink.rowEnds.begin(), sink.rowEnds.end(),
                     offsets.as<int64_t>() + firstRow[b] + 1,
                     [&](int64_t rowEnd) { return rowEnd + firstEntry[b]; });
    }
  });
  return CsrMatrix::adopt(rows, cols, std::move(offsets), std::move(columns), std::move(values));
}

CsrMatrix buildRows(int64_t rows, int64_t cols, int64_t work, ThreadPool &pool, FillRows fill) {
  int64_t blocks = std::min(rows, std::clamp<int64_t>(work / grain, 1, maxBlocks));
  std::vector<RowSink> sinks(static_cast<size_t>(blocks));
  pool.parallelFor(blocks, 1, [&](int64_t begin, int64_t end, int worker) {
    for (int64_t b = begin; b < end; ++b)
      fill(rows / blocks * b + std::min(b, rows % blocks),
           rows / blocks * (b + 1) + std::min(b + 1, rows % blocks), worker, sinks[b]);
  });
  return joinRows(rows, cols, sinks, pool);
}

void forRows(const CsrMatrix &matrix, RowCost cost, ThreadPool &pool, RowRange body) {
  std::span<const int64_t> offsets = matrix.offsets();
  pool.parallelFor(totalWork(matrix, cost), grain, [&](int64_t begin, int64_t end, int) {
    body(rowAtWork(offsets, cost, begin), rowAtWork(offsets, cost, end));
  });
}

int64_t firstRowOfPart(const CsrMatrix &matrix, int64_t part, int64_t parts) {
  int64_t work = totalWork(matrix, {});
  return rowAtWork(matrix.offsets(), {}, work / parts * part + std::min(part, work % parts));
}

} // namespace headrace::sparse
