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

Matrix inPreferredFormat(Matrix matrix, ThreadPool &pool) {
  if (preferSparse(rowsOf(matrix), colsOf(matrix), nonzerosOf(matrix, pool)))
    return sparseOf(matrix, pool);
  return denseOf(matrix, pool);
}

} // namespace headrace
