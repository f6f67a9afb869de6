#include "runtime/matrix/Matrix.h"

#include <algorithm>
#include <atomic>

namespace headrace {

int64_t rowsOf(const Matrix &matrix) {
  if (const auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse->rows();
  return sizeOfDense(std::get<Tensor>(matrix), "matrix").rows;
}

int64_t colsOf(const Matrix &matrix) {
  if (const auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse->cols();
  return sizeOfDense(std::get<Tensor>(matrix), "matrix").cols;
}

int64_t nonzerosOf(const Matrix &matrix, ThreadPool &pool) {
  if (const auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse->nonzeros();
  constexpr int64_t grain = 65536;
  const auto &dense = std::get<Tensor>(matrix);
  std::atomic<int64_t> count{0};
  pool.parallelFor(dense.elements(), grain, [&](int64_t begin, int64_t end, int) {
    const auto *cells = dense.as<double>();
    count += std::count_if(cells + begin, cells + end, [](double cell) { return cell != 0; });
  });
  return count;
}

Tensor denseOf(const Matrix &matrix, ThreadPool &pool) {
  if (const auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse->toDense(pool);
  return std::get<Tensor>(matrix);
}

CsrMatrix sparseOf(const Matrix &matrix, ThreadPool &pool) {
  if (const auto *dense = std::get_if<Tensor>(&matrix))
    return CsrMatrix::fromDense(*dense, pool);
  return std::get<CsrMatrix>(matrix);
}

void transposeInto(const Tensor &matrix, Tensor &result, ThreadPool &pool) {
  constexpr int64_t tile = 32, grain = 16384;
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  const auto *in = matrix.as<double>();
  auto *out = result.as<double>();
  pool.parallelFor((cols + tile - 1) / tile, 1 + grain / (rows * tile + 1),
                   [&](int64_t begin, int64_t end, int) {
                     for (int64_t jb = begin * tile; jb < std::min(end * tile, cols); jb += tile)
                       for (int64_t ib = 0; ib < rows; ib += tile)
                         for (int64_t j = jb; j < std::min(jb + tile, cols); ++j)
                           for (int64_t i = ib; i < std::min(ib + tile, rows); ++i)
                             out[j * rows + i] = in[i * cols + j];
                   });
}

Matrix inPreferredFormat(Matrix matrix, ThreadPool &pool) {
  if (preferSparse(rowsOf(matrix), colsOf(matrix), nonzerosOf(matrix, pool)))
    return sparseOf(matrix, pool);
  return denseOf(matrix, pool);
}

} // namespace headrace
