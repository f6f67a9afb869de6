// Functions whose results depend on many cells in ways of their own.
#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

/// cumsum and its like, down every column
template <CellFunction F> Value cumulate(HostCall &call) {
  Tensor x = writable(call.arguments[0], call.name());
  int64_t cols = x.shape()[1];
  double *cells = x.as<double>();
  for (int64_t i = cols; i < x.elements(); ++i)
    cells[i] = applyCell<F>(cells[i - cols], cells[i]);
  return x;
}

/// replace(target, pattern, replacement)
Value replace(HostCall &call) {
  double pattern = call.number(1, 0), replacement = call.number(2, 0);
  Tensor x = writable(call.arguments[0], call.name());
  double *cells = x.as<double>();
  for (int64_t i = 0; i < x.elements(); ++i)
    if (cells[i] == pattern || (std::isnan(pattern) && std::isnan(cells[i])))
      cells[i] = replacement;
  return inPreferredFormat(x);
}

/// rowIndexMax and rowIndexMin: where the last extreme of each row stands, from 1. NaN is none
/// beside numbers.
Value rowIndex(HostCall &call) {
  bool most = call.node.name == "rowIndexMax";
  Tensor x = call.dense(0);
  int64_t cols = x.shape()[1];
  Tensor result = newMatrix(x.shape()[0], 1);
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    const double *row = x.as<double>() + i * cols;
    int64_t best = 0;
    for (int64_t j = 1; j < cols; ++j)
      if (std::isnan(row[best]) ? !std::isnan(row[j])
                                : (most ? row[j] >= row[best] : row[j] <= row[best]))
        best = j;
    result.as<double>()[i] = static_cast<double>(best + 1);
  }
  return result;
}

Value contains(HostCall &call) {
  Tensor x = call.dense(0);
  double pattern = call.number(1, 0);
  const double *cells = x.as<double>();
  return std::any_of(cells, cells + x.elements(), [&](double cell) {
    return cell == pattern || (std::isnan(cell) && std::isnan(pattern));
  });
}

// --- Linear systems ----------------------------------------------------------------------------

void expectSquare(const HostCall &call, const Tensor &a) {
  if (a.shape()[0] != a.shape()[1])
    call.fail("expected a square matrix, found " + std::to_string(a.shape()[0]) + " x " +
                  std::to_string(a.shape()[1]),
              ErrorKind::ShapeMismatch);
}

/// Solves a x = b in place by elimination with pivots; both are overwritten.
void eliminate(const HostCall &call, Tensor &a, Tensor &b) {
  int64_t n = a.shape()[0], cols = b.shape()[1];
  double *m = a.as<double>(), *x = b.as<double>();
  for (int64_t k = 0; k < n; ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::fabs(m[i * n + k]) > std::fabs(m[pivot * n + k]))
        pivot = i;
    if (m[pivot * n + k] == 0)
      call.fail("the matrix is singular");
    if (pivot != k) {
      std::swap_ranges(m + k * n, m + (k + 1) * n, m + pivot * n);
      std::swap_ranges(x + k * cols, x + (k + 1) * cols, x + pivot * cols);
    }
    int64_t grain = std::max<int64_t>(1, 16384 / (n - k + cols));
    ThreadPool::global().parallelFor(n - k - 1, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = k + 1 + begin; i < k + 1 + end; ++i) {
        double factor = m[i * n + k] / m[k * n + k];
        if (factor == 0)
          continue;
        for (int64_t j = k + 1; j < n; ++j)
          m[i * n + j] -= factor * m[k * n + j];
        for (int64_t j = 0; j < cols; ++j)
          x[i * cols + j] -= factor * x[k * cols + j];
      }
    });
  }
  for (int64_t k = n - 1; k >= 0; --k)
    for (int64_t j = 0; j < cols; ++j) {
      double value = x[k * cols + j];
      for (int64_t i = k + 1; i < n; ++i)
        value -= m[k * n + i] * x[i * cols + j];
      x[k * cols + j] = value / m[k * n + k];
    }
}

Value solve(HostCall &call) {
  Tensor a = writable(call.arguments[0], "solve"), b = writable(call.arguments[1], "solve");
  expectSquare(call, a);
  if (a.shape()[0] != b.shape()[0])
    call.fail("expected as many rows on both sides, found " + std::to_string(a.shape()[0]) +
                  " and " + std::to_string(b.shape()[0]),
              ErrorKind::ShapeMismatch);
  eliminate(call, a, b);
  return b;
}

Value inverse(HostCall &call) {
  Tensor a = writable(call.arguments[0], "inv");
  expectSquare(call, a);
  int64_t n = a.shape()[0];
  Tensor identity = filled(0, n, n);
  for (int64_t i = 0; i < n; ++i)
    identity.as<double>()[i * n + i] = 1;
  eliminate(call, a, identity);
  return identity;
}

Value cholesky(HostCall &call) {
  Tensor a = writable(call.arguments[0], "cholesky");
  expectSquare(call, a);
  int64_t n = a.shape()[0];
  double *m = a.as<double>();
  for (int64_t j = 0; j < n; ++j) {
    for (int64_t k = 0; k < j; ++k)
      m[j * n + j] -= m[j * n + k] * m[j * n + k];
    if (!(m[j * n + j] > 0))
      call.fail("the matrix is not positive definite");
    m[j * n + j] = std::sqrt(m[j * n + j]);
    for (int64_t i = j + 1; i < n; ++i) {
      for (int64_t k = 0; k < j; ++k)
        m[i * n + j] -= m[i * n + k] * m[j * n + k];
      m[i * n + j] /= m[j * n + j];
    }
    std::fill(m + j * n + j + 1, m + (j + 1) * n, 0.0);
  }
  return a;
}

} // namespace

const HostTable &numericFunctions() {
  static const HostTable table = {{"cumsum", cumulate<CellFunction::Add>},
                                  {"cumprod", cumulate<CellFunction::Multiply>},
                                  {"cummin", cumulate<CellFunction::Min>},
                                  {"cummax", cumulate<CellFunction::Max>},
                                  {"replace", replace},
                                  {"rowIndexMax", rowIndex},
                                  {"rowIndexMin", rowIndex},
                                  {"contains", contains},
                                  {"solve", solve},
                                  {"inv", inverse},
                                  {"cholesky", cholesky}};
  return table;
}

} // namespace headrace::script
