#pragma once

#include "runtime/system/ThreadPool.h"
#include "runtime/tensor/Tensor.h"

#include <cstdint>
#include <span>

namespace headrace {

/// Whether a matrix is better kept sparse: below this share of nonzeros CSR takes less memory and
/// less time. A single column gains nothing from it.
inline constexpr double sparseDensity = 0.4;
bool preferSparse(int64_t rows, int64_t cols, int64_t nonzeros);

/// A matrix of doubles that stores only some cells, row by row; all others are 0. Immutable: copies
/// and matrices of one pattern share memory.
///
/// Columns ascend within a row, without repetition. Functions that make a matrix drop zeros (-0
/// too, which reads back as +0); only functions that promise a pattern may store them.
///
/// A cell that is not stored is 0 in every respect: results never depend on the format.
class CsrMatrix {
public:
  using Column = int32_t;

  /// 0 x 0.
  CsrMatrix() : CsrMatrix(empty(0, 0)) {}

  /// Nothing stored.
  static CsrMatrix empty(int64_t rows, int64_t cols);

  /// The nonzeros of an f64 matrix.
  static CsrMatrix fromDense(const Tensor &dense, ThreadPool &pool = ThreadPool::global());

  /// Cells in any order, 0-based; the values of a repeated cell are added in the order given.
  static CsrMatrix fromCells(int64_t rows, int64_t cols, std::span<const int64_t> rowIndices,
                             std::span<const int64_t> columnIndices, std::span<const double> values,
                             ThreadPool &pool = ThreadPool::global());

  /// CSR arrays of another library (indices i32 or i64, values f64 or f32), checked in full. Kept
  /// without a copy if they are as ours, so they must not change any more; else sorted, repeated
  /// cells added, zeros dropped.
  static CsrMatrix fromArrays(int64_t rows, int64_t cols, const Tensor &offsets,
                              const Tensor &columns, const Tensor &values,
                              ThreadPool &pool = ThreadPool::global());

  /// Arrays known to be right: i64 offsets (rows + 1), i32 columns, f64 values.
  static CsrMatrix adopt(int64_t rows, int64_t cols, Tensor offsets, Tensor columns, Tensor values);

  /// Throws Error on sizes that no sparse matrix can have: 2^31 columns or more, for one.
  static void checkSize(int64_t rows, int64_t cols);

  int64_t rows() const { return rowCount; }
  int64_t cols() const { return columnCount; }
  int64_t cells() const { return rowCount * columnCount; }

  /// How many cells are stored.
  int64_t nonzeros() const { return valueTensor.elements(); }

  /// Row i holds the entries [offsets()[i], offsets()[i + 1]).
  std::span<const int64_t> offsets() const {
    return {offsetData, static_cast<size_t>(rowCount) + 1};
  }
  std::span<const Column> columns() const { return {columnData, static_cast<size_t>(nonzeros())}; }
  std::span<const double> values() const { return {valueData, static_cast<size_t>(nonzeros())}; }
  std::span<const Column> columnsOf(int64_t row) const {
    return {columnData + offsetData[row], columnData + offsetData[row + 1]};
  }
  std::span<const double> valuesOf(int64_t row) const {
    return {valueData + offsetData[row], valueData + offsetData[row + 1]};
  }

  /// The arrays themselves, for handing on without a copy.
  const Tensor &offsetArray() const { return offsetTensor; }
  const Tensor &columnArray() const { return columnTensor; }
  const Tensor &valuesArray() const { return valueTensor; }

  /// The cell, found by search.
  double at(int64_t row, int64_t col) const;

  Tensor toDense(ThreadPool &pool = ThreadPool::global()) const;

  /// A matrix of this pattern with other values, as many as are stored.
  CsrMatrix withValues(Tensor values) const;

  /// Without stored zeros; itself if there are none.
  CsrMatrix withoutZeros(ThreadPool &pool = ThreadPool::global()) const;

private:
  CsrMatrix(int64_t rows, int64_t cols, Tensor offsets, Tensor columns, Tensor values);

  int64_t rowCount, columnCount;
  Tensor offsetTensor, columnTensor, valueTensor;
  const int64_t *offsetData;
  const Column *columnData;
  const double *valueData;
};

/// The sizes of an f64 matrix; throws Error, naming `what`, for anything else.
struct MatrixSize {
  int64_t rows, cols;
};
MatrixSize sizeOfDense(const Tensor &dense, const char *what);

} // namespace headrace
