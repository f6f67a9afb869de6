#include "runtime/sparse/Structure.h"

#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <utility>

namespace headrace::sparse {

namespace {

using Column = CsrMatrix::Column;

void checkRange(Range range, int64_t size, const char *which) {
  if (range.begin < 0 || range.end < range.begin || range.end > size)
    throw Error(ErrorKind::InvalidArgument,
                std::string("slice: expected ") + which + " within 0 to " + std::to_string(size) +
                    ", got " + std::to_string(range.begin) + " to " + std::to_string(range.end));
}

CsrMatrix sliceRows(const CsrMatrix &matrix, Range rows) {
  int64_t first = matrix.offsets()[rows.begin];
  int64_t count = matrix.offsets()[rows.end] - first, rowCount = rows.end - rows.begin;
  Tensor offsets = Tensor::allocate(DType::I64, {rowCount + 1});
  for (int64_t row = 0; row <= rowCount; ++row)
    offsets.as<int64_t>()[row] = matrix.offsets()[rows.begin + row] - first;
  return CsrMatrix::adopt(rowCount, matrix.cols(), std::move(offsets),
                          Tensor::borrow(DType::I32, {count}, matrix.columns().data() + first,
                                         matrix.columnArray().owner()),
                          Tensor::borrow(DType::F64, {count}, matrix.values().data() + first,
                                         matrix.valuesArray().owner()));
}

/// The entries of a row whose columns are in the range, as positions in the row.
Range entriesWithin(std::span<const Column> columns, Range cols) {
  auto begin = std::lower_bound(columns.begin(), columns.end(), cols.begin);
  auto end = std::lower_bound(begin, columns.end(), cols.end);
  return {begin - columns.begin(), end - columns.begin()};
}

/// One array after the other.
template <class T, class GetSpan>
Tensor joined(DType type, int64_t count, std::span<const CsrMatrix> parts, GetSpan spanOf) {
  Tensor result = Tensor::allocate(type, {count});
  auto *next = result.as<T>();
  for (const CsrMatrix &part : parts)
    next = std::copy(spanOf(part).begin(), spanOf(part).end(), next);
  return result;
}

void checkParts(std::span<const CsrMatrix> parts, const char *what,
                int64_t (CsrMatrix::*size)() const, const char *which) {
  if (parts.empty())
    throw InternalError(std::string(what) + " of nothing");
  int64_t expected = (parts.front().*size)();
  for (const CsrMatrix &part : parts)
    if ((part.*size)() != expected)
      throw Error(ErrorKind::ShapeMismatch, std::string(what) + ": expected equal numbers of " +
                                                which + ", got " + std::to_string(expected) +
                                                " and " + std::to_string((part.*size)()));
}

} // namespace

// A counting sort by column: parts of the rows are counted, then placed, side by side.
CsrMatrix transpose(const CsrMatrix &matrix, ThreadPool &pool) {
  int64_t rows = matrix.cols(), count = matrix.nonzeros();
  CsrMatrix::checkSize(rows, matrix.rows()); // rows become columns, of which there may be fewer
  int64_t parts = std::clamp<int64_t>(count / (rows + grain), 1, pool.threads());
  // Per part and column: how many entries, then where the next one goes.
  std::vector<int64_t> next(parts * rows);
  auto firstEntry = [&](int64_t part) {
    return matrix.offsets()[firstRowOfPart(matrix, part, parts)];
  };
  pool.parallelFor(parts, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part)
      for (int64_t e = firstEntry(part), last = firstEntry(part + 1); e < last; ++e)
        ++next[part * rows + matrix.columns()[e]];
  });
  Tensor offsets = Tensor::allocate(DType::I64, {rows + 1});
  int64_t position = 0;
  for (int64_t row = 0; row < rows; ++row) {
    offsets.as<int64_t>()[row] = position;
    for (int64_t part = 0; part < parts; ++part)
      position += std::exchange(next[part * rows + row], position);
  }
  offsets.as<int64_t>()[rows] = position;

  Tensor columns = Tensor::allocate(DType::I32, {count});
  Tensor values = Tensor::allocate(DType::F64, {count});
  auto *columnsOut = columns.as<Column>();
  auto *valuesOut = values.as<double>();
  pool.parallelFor(parts, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part)
      for (int64_t row = firstRowOfPart(matrix, part, parts),
                   last = firstRowOfPart(matrix, part + 1, parts);
           row < last; ++row)
        for (int64_t e = matrix.offsets()[row]; e < matrix.offsets()[row + 1]; ++e) {
          int64_t target = next[part * rows + matrix.columns()[e]]++;
          columnsOut[target] = static_cast<Column>(row);
          valuesOut[target] = matrix.values()[e];
        }
  });
  return CsrMatrix::adopt(rows, matrix.rows(), std::move(offsets), std::move(columns),
                          std::move(values));
}

CsrMatrix slice(const CsrMatrix &matrix, Range rows, Range cols, ThreadPool &pool) {
  checkRange(rows, matrix.rows(), "rows");
  checkRange(cols, matrix.cols(), "columns");
  CsrMatrix whole = sliceRows(matrix, rows);
  if (cols.begin == 0 && cols.end == matrix.cols())
    return whole;
  return buildRows(whole.rows(), cols.end - cols.begin, whole.nonzeros() + whole.rows(), pool,
                   [&](int64_t begin, int64_t end, int, RowSink &sink) {
                     for (int64_t row = begin; row < end; ++row) {
                       std::span<const Column> columns = whole.columnsOf(row);
                       Range entries = entriesWithin(columns, cols);
                       for (int64_t e = entries.begin; e < entries.end; ++e)
                         sink.append(static_cast<Column>(columns[e] - cols.begin),
                                     whole.valuesOf(row)[e]);
                       sink.endRow();
                     }
                   });
}

CsrMatrix pickRows(const CsrMatrix &matrix, std::span<const int64_t> rows, ThreadPool &pool) {
  auto count = static_cast<int64_t>(rows.size());
  Tensor offsets = Tensor::allocate(DType::I64, {count + 1});
  auto *offsetsOut = offsets.as<int64_t>();
  offsetsOut[0] = 0;
  for (int64_t i = 0; i < count; ++i)
    offsetsOut[i + 1] = offsetsOut[i] + std::ssize(matrix.columnsOf(rows[i]));
  Tensor columns = Tensor::allocate(DType::I32, {offsetsOut[count]});
  Tensor values = Tensor::allocate(DType::F64, {offsetsOut[count]});
  auto *columnsOut = columns.as<Column>();
  auto *valuesOut = values.as<double>();
  int64_t perRow = 1 + offsetsOut[count] / std::max<int64_t>(count, 1);
  pool.parallelFor(count, 1 + grain / perRow, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      std::ranges::copy(matrix.columnsOf(rows[i]), columnsOut + offsetsOut[i]);
      std::ranges::copy(matrix.valuesOf(rows[i]), valuesOut + offsetsOut[i]);
    }
  });
  return CsrMatrix::adopt(count, matrix.cols(), std::move(offsets), std::move(columns),
                          std::move(values));
}

CsrMatrix bindColumns(std::span<const CsrMatrix> parts, ThreadPool &pool) {
  checkParts(parts, "cbind", &CsrMatrix::rows, "rows");
  int64_t rows = parts.front().rows(), cols = 0, work = rows;
  for (const CsrMatrix &part : parts) {
    cols += part.cols();
    work += part.nonzeros();
  }
  CsrMatrix::checkSize(rows, cols);
  return buildRows(rows, cols, work, pool, [&](int64_t begin, int64_t end, int, RowSink &sink) {
    for (int64_t row = begin; row < end; ++row) {
      Column first = 0;
      for (const CsrMatrix &part : parts) {
        for (int64_t e = part.offsets()[row]; e < part.offsets()[row + 1]; ++e)
          sink.append(first + part.columns()[e], part.values()[e]);
        first += static_cast<Column>(part.cols());
      }
      sink.endRow();
    }
  });
}

CsrMatrix bindRows(std::span<const CsrMatrix> parts) {
  checkParts(parts, "rbind", &CsrMatrix::cols, "columns");
  int64_t rows = 0, count = 0;
  for (const CsrMatrix &part : parts) {
    rows += part.rows();
    count += part.nonzeros();
  }
  Tensor offsets = Tensor::allocate(DType::I64, {rows + 1});
  auto *next = offsets.as<int64_t>();
  *next++ = 0;
  for (const CsrMatrix &part : parts) {
    int64_t first = next[-1];
    for (int64_t offset : part.offsets().subspan(1))
      *next++ = first + offset;
  }
  return CsrMatrix::adopt(
      rows, parts.front().cols(), std::move(offsets),
      joined<Column>(DType::I32, count, parts, [](const auto &part) { return part.columns(); }),
      joined<double>(DType::F64, count, parts, [](const auto &part) { return part.values(); }));
}

} // namespace headrace::sparse
