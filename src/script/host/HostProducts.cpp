// Products of matrices in any format.
#include "runtime/library/Gemm.h"
#include "runtime/library/OpenBlas.h"
#include "runtime/sparse/Products.h"

#include "script/host/HostOperations.h"
#include <algorithm>

namespace headrace::script {

/// If there is no OpenBLAS: rows of the result as sums of rows on the right.
static void plainProduct(const Tensor &a, bool transposeLeft, const Tensor &b, Tensor &result) {
  int64_t rows = result.shape()[0], cols = result.shape()[1], inner = b.shape()[0];
  const double *left = a.as<double>(), *right = b.as<double>();
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(inner * cols, 1));
  ThreadPool::global().parallelFor(rows, grain, [&](int64_t begin, int64_t end, int) {
    std::fill(result.as<double>() + begin * cols, result.as<double>() + end * cols, 0.0);
    for (int64_t k = 0; k < inner; ++k)
      for (int64_t i = begin; i < end; ++i) {
        double factor = transposeLeft ? left[k * rows + i] : left[i * inner + k];
        double *out = result.as<double>() + i * cols;
        for (int64_t j = 0; j < cols; ++j)
          out[j] += factor * right[k * cols + j];
      }
  });
}

static Tensor denseProduct(const Tensor &a, bool transposeLeft, const Tensor &b,
                           bool transposeRight) {
  int64_t rows = a.shape()[transposeLeft], inner = a.shape()[!transposeLeft];
  int64_t cols = b.shape()[!transposeRight];
  Tensor result = newMatrix(rows, cols);
  if (openBlas())
    multiply(Gemm::of(rows, cols, inner, transposeLeft, transposeRight), a.as<double>(),
             b.as<double>(), result.as<double>(), ThreadPool::global(), "'%*%'");
  else
    plainProduct(a, transposeLeft, transposeRight ? denseOf(transposed(b)) : b, result);
  return result;
}

Matrix product(const Matrix &left, bool transposeLeft, const Matrix &right, bool transposeRight) {
  int64_t inner = transposeLeft ? rowsOf(left) : colsOf(left);
  int64_t innerRight = transposeRight ? colsOf(right) : rowsOf(right);
  if (inner != innerRight)
    throw Error(ErrorKind::ShapeMismatch, "'%*%': expected as many columns on the left as rows on "
                                          "the right, got " +
                                              std::to_string(inner) + " and " +
                                              std::to_string(innerRight));
  auto *sparseLeft = std::get_if<CsrMatrix>(&left);
  auto *sparseRight = std::get_if<CsrMatrix>(&right);
  if (!sparseLeft && !sparseRight)
    return denseProduct(std::get<Tensor>(left), transposeLeft, std::get<Tensor>(right),
                        transposeRight);
  Matrix b = transposeRight ? transposed(right) : right;
  if (sparseLeft && transposeLeft && !sparseRight)
    return sparse::transposedProduct(*sparseLeft, std::get<Tensor>(b));
  Matrix a = transposeLeft ? transposed(left) : left;
  sparseLeft = std::get_if<CsrMatrix>(&a);
  sparseRight = std::get_if<CsrMatrix>(&b);
  if (sparseLeft && sparseRight)
    return inPreferredFormat(sparse::product(*sparseLeft, *sparseRight));
  if (sparseLeft)
    return sparse::product(*sparseLeft, std::get<Tensor>(b));
  return sparse::product(std::get<Tensor>(a), *sparseRight);
}

} // namespace headrace::script
