// Aggregates over all cells, over each row and over each column.
#include "runtime/sparse/Reductions.h"

#include "script/host/HostCells.h"
#include "script/host/HostOperations.h"
#include <algorithm>
#include <limits>

namespace headrace::script {

static constexpr int64_t kGrain = 16384;

/// Rows that one thread should have at least.
static int64_t rowGrain(int64_t cellsPerRow) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(cellsPerRow, 1));
}

static double startOf(AggregateKind kind) {
  switch (kind) {
  case AggregateKind::Min:
    return std::numeric_limits<double>::infinity();
  case AggregateKind::Max:
    return -std::numeric_limits<double>::infinity();
  case AggregateKind::Product:
    return 1;
  default:
    return 0;
  }
}

static double combine(AggregateKind kind, double a, double b) {
  switch (kind) {
  case AggregateKind::Min:
    return applyCell<CellFunction::Min>(a, b);
  case AggregateKind::Max:
    return applyCell<CellFunction::Max>(a, b);
  case AggregateKind::Product:
    return a * b;
  default:
    return a + b;
  }
}

static sparse::Aggregate sparseAggregate(AggregateKind kind) {
  switch (kind) {
  case AggregateKind::Sum:
    return sparse::Aggregate::Sum;
  case AggregateKind::Mean:
    return sparse::Aggregate::Mean;
  case AggregateKind::Min:
    return sparse::Aggregate::Minimum;
  case AggregateKind::Max:
    return sparse::Aggregate::Maximum;
  case AggregateKind::Product:
    break;
  }
  throw InternalError("products of sparse matrices are computed here");
}

// --- Dense -------------------------------------------------------------------------------------

/// One result per row; the rows of a whole matrix are then combined in order.
static Tensor aggregateRows(AggregateKind kind, const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor result = newMatrix(rows, 1);
  const double *in = matrix.as<double>();
  double *out = result.as<double>();
  ThreadPool::global().parallelFor(rows, rowGrain(cols), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      double value = startOf(kind);
      for (int64_t j = 0; j < cols; ++j)
        value = combine(kind, value, in[i * cols + j]);
      out[i] = kind == AggregateKind::Mean ? value / static_cast<double>(cols) : value;
    }
  });
  return result;
}

static Tensor aggregateColumns(AggregateKind kind, const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor result = filled(startOf(kind), 1, cols);
  const double *in = matrix.as<double>();
  double *out = result.as<double>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      out[j] = combine(kind, out[j], in[i * cols + j]);
  if (kind == AggregateKind::Mean)
    std::for_each(out, out + cols, [&](double &value) { value /= static_cast<double>(rows); });
  return result;
}

static Value aggregateDense(AggregateKind kind, Extent extent, const Tensor &dense) {
  if (extent == Extent::EachRow)
    return aggregateRows(kind, dense);
  if (extent == Extent::EachColumn)
    return aggregateColumns(kind, dense);
  // Row by row, so that the sum of many cells keeps its digits; a column as rows of its own.
  int64_t cells = dense.elements();
  int64_t width = dense.shape()[1] > 1 ? dense.shape()[1] : 1024;
  bool mean = kind == AggregateKind::Mean;
  AggregateKind plain = mean ? AggregateKind::Sum : kind;
  int64_t whole = width > 0 ? cells / width : 0;
  Tensor rows =
      aggregateRows(plain, Tensor::borrow(DType::F64, {whole, width}, dense.data(), nullptr));
  double value = startOf(plain);
  for (int64_t i = 0; i < whole; ++i)
    value = combine(plain, value, rows.as<double>()[i]);
  for (int64_t i = whole * width; i < cells; ++i)
    value = combine(plain, value, dense.as<double>()[i]);
  return mean ? value / static_cast<double>(cells) : value;
}

// --- Both formats ------------------------------------------------------------------------------

/// From 0 if a cell is not stored, so that it is 0 unless a stored one is NaN or infinite.
static Value productOfCells(Extent extent, const CsrMatrix &matrix) {
  Tensor result = extent == Extent::All       ? newMatrix(1, 1)
                  : extent == Extent::EachRow ? newMatrix(matrix.rows(), 1)
                                              : newMatrix(1, matrix.cols());
  auto forStored = [&](auto visit) {
    for (int64_t row = 0; row < matrix.rows(); ++row)
      for (int64_t e = matrix.offsets()[row]; e < matrix.offsets()[row + 1]; ++e)
        visit(extent == Extent::All       ? 0
              : extent == Extent::EachRow ? row
                                          : int64_t{matrix.columns()[e]},
              matrix.values()[e]);
  };
  std::vector<int64_t> stored(static_cast<size_t>(result.elements()));
  forStored([&](int64_t at, double) { ++stored[at]; });
  double *products = result.as<double>();
  for (size_t i = 0; i < stored.size(); ++i)
    products[i] = stored[i] * std::ssize(stored) < matrix.cells() ? 0 : 1;
  forStored([&](int64_t at, double value) { products[at] *= value; });
  return extent == Extent::All ? Value(products[0]) : Value(result);
}

static Value aggregateSparse(AggregateKind kind, Extent extent, const CsrMatrix &matrix) {
  if (kind == AggregateKind::Product)
    return productOfCells(extent, matrix);
  sparse::Aggregate aggregate = sparseAggregate(kind);
  if (extent == Extent::All)
    return sparse::reduce(aggregate, matrix);
  return extent == Extent::EachRow ? sparse::reduceRows(aggregate, matrix)
                                   : sparse::reduceColumns(aggregate, matrix);
}

Value aggregate(AggregateKind kind, Extent extent, const Matrix &matrix) {
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return aggregateSparse(kind, extent, *sparse);
  return aggregateDense(kind, extent, std::get<Tensor>(matrix));
}

} // namespace headrace::script
