// Linear systems and factorizations.
#include "runtime/library/LinearAlgebra.h"

#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

namespace {

Tensor squareOperand(const HostCall &call) {
  Tensor a = call.dense(0);
  if (a.shape()[0] != a.shape()[1])
    call.fail("expected a square matrix, got " + std::to_string(a.shape()[0]) + " x " +
                  std::to_string(a.shape()[1]),
              ErrorKind::ShapeMismatch);
  return a;
}

Value orSingular(const HostCall &call, const std::optional<Tensor> &result) {
  if (!result)
    call.fail("the matrix is singular");
  return *result;
}

Value solve(HostCall &call) {
  Tensor a = squareOperand(call), b = call.dense(1);
  if (a.shape()[0] != b.shape()[0])
    call.fail("expected as many rows on both sides, got " + std::to_string(a.shape()[0]) + " and " +
                  std::to_string(b.shape()[0]),
              ErrorKind::ShapeMismatch);
  return orSingular(call, solveSystem(a, b, ThreadPool::global()));
}

Value inverse(HostCall &call) {
  return orSingular(call, invert(squareOperand(call), ThreadPool::global()));
}

Value cholesky(HostCall &call) {
  squareOperand(call);
  Tensor a = writable(call.arguments[0], "cholesky");
  if (!factorizeCholesky(a, ThreadPool::global()))
    call.fail("the matrix is not positive definite");
  return a;
}

Value det(HostCall &call) { return determinant(squareOperand(call), ThreadPool::global()); }

// --- Several results ---------------------------------------------------------------------------

Value results(std::initializer_list<Tensor> tensors) {
  auto list = std::make_shared<List>();
  for (const Tensor &tensor : tensors)
    list->entries.emplace_back("", tensor);
  return std::shared_ptr<const List>(std::move(list));
}

/// Iterations would not end on NaN, nor mean anything on infinity.
void expectFinite(const HostCall &call, const Tensor &a) {
  const double *cells = a.as<double>();
  const double *found =
      std::find_if(cells, cells + a.elements(), [](double cell) { return !std::isfinite(cell); });
  if (found != cells + a.elements())
    call.fail("expected finite values, got " + numberText(*found));
}

/// Fails unless the matrix is symmetric up to rounding.
void expectSymmetric(const HostCall &call, const Tensor &a) {
  int64_t n = a.shape()[0];
  const double *cells = a.as<double>();
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i)
    largest = std::max(largest, std::fabs(cells[i]));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (std::fabs(cells[i * n + j] - cells[j * n + i]) > 1e-9 * largest)
        call.fail("expected a symmetric matrix, got " + numberText(cells[i * n + j]) + " in row " +
                  std::to_string(i + 1) + ", column " + std::to_string(j + 1) + " and " +
                  numberText(cells[j * n + i]) + " in row " + std::to_string(j + 1) + ", column " +
                  std::to_string(i + 1));
}

Value eigen(HostCall &call) {
  Tensor a = squareOperand(call);
  expectFinite(call, a);
  expectSymmetric(call, a);
  auto factors = factorizeEigen(a, ThreadPool::global());
  if (!factors)
    call.fail("the iteration does not converge");
  return results({factors->values, factors->vectors});
}

Value lu(HostCall &call) {
  LuFactors factors = factorizeLu(squareOperand(call), ThreadPool::global());
  return results({factors.p, factors.l, factors.u});
}

Value qr(HostCall &call) {
  Tensor a = call.dense(0);
  expectFinite(call, a);
  QrFactors factors = factorizeQr(a, ThreadPool::global());
  return results({factors.h, factors.r});
}

Value svd(HostCall &call) {
  Tensor a = call.dense(0);
  expectFinite(call, a);
  auto factors = factorizeSvd(a, ThreadPool::global());
  if (!factors)
    call.fail("the iteration does not converge");
  return results({factors->u, factors->s, factors->v});
}

} // namespace

const HostTable &linearAlgebra() {
  static const HostTable table = {{"solve", solve}, {"inv", inverse}, {"cholesky", cholesky},
                                  {"det", det},     {"eigen", eigen}, {"lu", lu},
                                  {"qr", qr},       {"svd", svd}};
  return table;
}

} // namespace headrace::script
