#include "runtime/sparse/CsrMatrix.h"

#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/AvailableMemory.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace headrace {

namespace {

constexpr int64_t maxColumns = std::numeric_limits<CsrMatrix::Column>::max();
constexpr int64_t maxRows = int64_t{1} << 48;

std::string sizeString(int64_t rows, int64_t cols) { return shapeString({rows, cols}); }

} // namespace

bool preferSparse(int64_t rows, int64_t cols, int64_t nonzeros) {
  return cols > 1 && static_cast<double>(nonzeros) <
                         sparseDensity * static_cast<double>(rows) * static_cast<double>(cols);
}

MatrixSize sizeOfDense(const Tensor &dense, const char *what) {
  if (dense.shape().size() != 2)
    throw Error(ErrorKind::ShapeMismatch,
                std::string(what) + ": expected a matrix, got shape " + shapeString(dense.shape()));
  if (dense.dtype() != DType::F64)
    throw Error(ErrorKind::TypeMismatch, std::string(what) + ": expected a matrix of f64, got " +
                                             std::string(nameOf(dense.dtype())));
  return {dense.shape()[0], dense.shape()[1]};
}

CsrMatrix::CsrMatrix(int64_t rows, int64_t cols, Tensor offsets, Tensor columns, Tensor values)
    : rowCount(rows), columnCount(cols), offsetTensor(std::move(offsets)),
      columnTensor(std::move(columns)), valueTensor(std::move(values)),
      offsetData(std::as_const(offsetTensor).as<int64_t>()),
      columnData(std::as_const(columnTensor).as<Column>()),
      valueData(std::as_const(valueTensor).as<double>()) {}

void CsrMatrix::checkSize(int64_t rows, int64_t cols) {
  elementCount({rows, cols});
  if (cols > maxColumns || rows > maxRows)
    throw Error(ErrorKind::Unsupported, "sparse matrix " + sizeString(rows, cols) +
                                            ": expected fewer than 2^31 columns and 2^48 rows");
}

CsrMatrix CsrMatrix::adopt(int64_t rows, int64_t cols, Tensor offsets, Tensor columns,
                           Tensor values) {
  checkSize(rows, cols);
  return {rows, cols, std::move(offsets), std::move(columns), std::move(values)};
}

CsrMatrix CsrMatrix::empty(int64_t rows, int64_t cols) {
  checkSize(rows, cols);
  Tensor offsets = Tensor::allocate(DType::I64, {rows + 1});
  std::fill_n(offsets.as<int64_t>(), rows + 1, 0);
  return adopt(rows, cols, std::move(offsets), Tensor::allocate(DType::I32, {0}),
               Tensor::allocate(DType::F64, {0}));
}

CsrMatrix CsrMatrix::fromDense(const Tensor &dense, ThreadPool &pool) {
  auto [rows, cols] = sizeOfDense(dense, "dense to sparse");
  const auto *source = dense.as<double>();
  return sparse::buildRows(
      rows, cols, dense.elements(), pool,
      [&, cols = cols](int64_t begin, int64_t end, int, sparse::RowSink &sink) {
        for (int64_t row = begin; row < end; ++row) {
          for (int64_t col = 0; col < cols; ++col)
            sink.append(static_cast<Column>(col), source[row * cols + col]);
          sink.endRow();
        }
      });
}

double CsrMatrix::at(int64_t row, int64_t col) const {
  if (row < 0 || row >= rowCount || col < 0 || col >= columnCount)
    throw InternalError("cell (" + std::to_string(row) + ", " + std::to_string(col) +
                        ") of a sparse matrix " + sizeString(rowCount, columnCount));
  std::span<const Column> stored = columnsOf(row);
  auto found = std::lower_bound(stored.begin(), stored.end(), col);
  return found != stored.end() && *found == col ? valuesOf(row)[found - stored.begin()] : 0;
}

static Tensor allocateDense(int64_t rows, int64_t cols) {
  try {
    return Tensor::allocate(DType::F64, {rows, cols});
  } catch (const OutOfMemory &error) {
    throw error.withPurpose("sparse to dense", "a dense copy of a sparse matrix of " +
                                                   std::to_string(rows) + " x " +
                                                   std::to_string(cols));
  }
}

Tensor CsrMatrix::toDense(ThreadPool &pool) const {
  Tensor dense = allocateDense(rowCount, columnCount);
  auto *target = dense.as<double>();
  sparse::forRows(*this, {1, columnCount + 1}, pool, [&](int64_t begin, int64_t end) {
    std::fill(target + begin * columnCount, target + end * columnCount, 0.0);
    for (int64_t row = begin; row < end; ++row) {
      std::span<const Column> stored = columnsOf(row);
      std::span<const double> numbers = valuesOf(row);
      for (size_t e = 0; e < stored.size(); ++e)
        target[row * columnCount + stored[e]] = numbers[e];
    }
  });
  return dense;
}

CsrMatrix CsrMatrix::withValues(Tensor values) const {
  if (values.dtype() != DType::F64 || values.elements() != nonzeros())
    throw InternalError("a sparse matrix of " + std::to_string(nonzeros()) +
                        " stored cells was given " + std::to_string(values.elements()) + " values");
  return {rowCount, columnCount, offsetTensor, columnTensor, std::move(values)};
}

CsrMatrix CsrMatrix::withoutZeros(ThreadPool &pool) const {
  std::span<const double> all = values();
  if (std::find(all.begin(), all.end(), 0.0) == all.end())
    return *this;
  return sparse::buildRows(rowCount, columnCount, nonzeros() + rowCount, pool,
                           [&](int64_t begin, int64_t end, int, sparse::RowSink &sink) {
                             for (int64_t row = begin; row < end; ++row) {
                               std::span<const Column> stored = columnsOf(row);
                               std::span<const double> numbers = valuesOf(row);
                               for (size_t e = 0; e < stored.size(); ++e)
                                 sink.append(stored[e], numbers[e]);
                               sink.endRow();
                             }
                           });
}

} // namespace headrace
