// Sparse matrices from arrays of another library: untrusted, so everything is checked.
#include "runtime/sparse/CsrMatrix.h"
#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace {

namespace {

using Column = CsrMatrix::Column;

struct Cell {
  Column column;
  int64_t position; // among the cells given
  double value;
};

[[noreturn]] void invalid(const std::string &reason) {
  throw Error(ErrorKind::InvalidArgument, "sparse matrix: " + reason);
}

void checkIndices(std::span<const int64_t> indices, int64_t size, const char *which) {
  for (size_t i = 0; i < indices.size(); ++i)
    if (indices[i] < 0 || indices[i] >= size)
      invalid(std::string("expected ") + which + " indices from 0 to below " +
              std::to_string(size) + ", got " + std::to_string(indices[i]) + " at position " +
              std::to_string(i));
}

/// Gives a row to the sink in order; repeated cells are added in the order they came.
void appendSorted(std::vector<Cell> &row, sparse::RowSink &sink) {
  auto before = [](const Cell &a, const Cell &b) {
    return std::pair(a.column, a.position) < std::pair(b.column, b.position);
  };
  if (!std::is_sorted(row.begin(), row.end(), before))
    std::sort(row.begin(), row.end(), before);
  for (size_t e = 0; e < row.size();) {
    Cell cell = row[e++];
    while (e < row.size() && row[e].column == cell.column)
      cell.value += row[e++].value;
    sink.append(cell.column, cell.value);
  }
  sink.endRow();
}

Tensor asType(const Tensor &array, DType type, std::initializer_list<DType> accepted,
              const char *which) {
  if (std::find(accepted.begin(), accepted.end(), array.dtype()) == accepted.end())
    throw Error(ErrorKind::TypeMismatch, std::string("sparse matrix: ") + which + ": got type " +
                                             std::string(nameOf(array.dtype())));
  if (array.shape().size() != 1)
    throw Error(ErrorKind::ShapeMismatch, std::string("sparse matrix: ") + which +
                                              ": expected one dimension, got shape " +
                                              shapeString(array.shape()));
  return array.dtype() == type ? array : array.converted(type);
}

void checkOffsets(std::span<const int64_t> offsets, int64_t entries) {
  if (offsets.front() != 0 || offsets.back() != entries)
    invalid("expected row offsets from 0 to " + std::to_string(entries) + ", got " +
            std::to_string(offsets.front()) + " to " + std::to_string(offsets.back()));
  for (size_t i = 1; i < offsets.size(); ++i)
    if (offsets[i] < offsets[i - 1])
      invalid("expected row offsets that ascend, got " + std::to_string(offsets[i - 1]) +
              " before " + std::to_string(offsets[i]));
}

bool columnsAscend(std::span<const int64_t> offsets, std::span<const Column> columns) {
  for (size_t row = 0; row + 1 < offsets.size(); ++row)
    for (int64_t e = offsets[row] + 1; e < offsets[row + 1]; ++e)
      if (columns[e - 1] >= columns[e])
        return false;
  return true;
}

} // namespace

CsrMatrix CsrMatrix::fromCells(int64_t rows, int64_t cols, std::span<const int64_t> rowIndices,
                               std::span<const int64_t> columnIndices,
                               std::span<const double> values, ThreadPool &pool) {
  checkSize(rows, cols);
  if (rowIndices.size() != values.size() || columnIndices.size() != values.size())
    invalid("expected as many row and column indices as values (" + std::to_string(values.size()) +
            "), got " + std::to_string(rowIndices.size()) + " and " +
            std::to_string(columnIndices.size()));
  checkIndices(rowIndices, rows, "row");
  checkIndices(columnIndices, cols, "column");

  // A counting sort by row, which keeps the order within each.
  std::vector<int64_t> starts(static_cast<size_t>(rows) + 1);
  for (int64_t row : rowIndices)
    ++starts[row + 1];
  for (int64_t row = 0; row < rows; ++row)
    starts[row + 1] += starts[row];
  std::vector<int64_t> next(starts.begin(), starts.end() - 1);
  std::vector<Cell> cells(values.size());
  for (size_t i = 0; i < values.size(); ++i)
    cells[next[rowIndices[i]]++] = {static_cast<Column>(columnIndices[i]), static_cast<int64_t>(i),
                                    values[i]};

  auto work = static_cast<int64_t>(values.size()) + rows;
  return sparse::buildRows(
      rows, cols, work, pool, [&](int64_t begin, int64_t end, int, sparse::RowSink &sink) {
        std::vector<Cell> cellsOfRow;
        for (int64_t row = begin; row < end; ++row) {
          cellsOfRow.assign(cells.begin() + starts[row], cells.begin() + starts[row + 1]);
          appendSorted(cellsOfRow, sink);
        }
      });
}

CsrMatrix CsrMatrix::fromArrays(int64_t rows, int64_t cols, const Tensor &offsets,
                                const Tensor &columns, const Tensor &values, ThreadPool &pool) {
  checkSize(rows, cols);
  Tensor ownOffsets = asType(offsets, DType::I64, {DType::I32, DType::I64}, "row offsets");
  // Checked in 64 bits: a conversion could wrap a bad index into the range.
  Tensor wideColumns = asType(columns, DType::I64, {DType::I32, DType::I64}, "column indices");
  Tensor ownValues = asType(values, DType::F64, {DType::F32, DType::F64}, "values");
  if (ownOffsets.elements() != rows + 1)
    invalid("expected " + std::to_string(rows + 1) + " row offsets for " + std::to_string(rows) +
            " rows, got " + std::to_string(ownOffsets.elements()));
  if (wideColumns.elements() != ownValues.elements())
    invalid("expected as many column indices as values (" + std::to_string(ownValues.elements()) +
            "), got " + std::to_string(wideColumns.elements()));
  std::span<const int64_t> offsetSpan(ownOffsets.as<int64_t>(), rows + 1);
  checkOffsets(offsetSpan, ownValues.elements());
  checkIndices({wideColumns.as<int64_t>(), static_cast<size_t>(wideColumns.elements())}, cols,
               "column");

  Tensor ownColumns = columns.dtype() == DType::I32 ? columns : wideColumns.converted(DType::I32);
  CsrMatrix matrix = adopt(rows, cols, ownOffsets, ownColumns, ownValues);
  if (columnsAscend(matrix.offsets(), matrix.columns()))
    return matrix.withoutZeros(pool);
  return sparse::buildRows(rows, cols, matrix.nonzeros() + rows, pool,
                           [&](int64_t begin, int64_t end, int, sparse::RowSink &sink) {
                             std::vector<Cell> row;
                             for (int64_t r = begin; r < end; ++r) {
                               std::span<const Column> stored = matrix.columnsOf(r);
                               std::span<const double> numbers = matrix.valuesOf(r);
                               row.clear();
                               for (size_t e = 0; e < stored.size(); ++e)
                                 row.push_back({stored[e], static_cast<int64_t>(e), numbers[e]});
                               appendSorted(row, sink);
                             }
                           });
}

} // namespace headrace
