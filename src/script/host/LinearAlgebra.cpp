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

/// Iterations would not end on NaN, nor mean anything on infinity.
void expectFinite(const HostCall &call, const Tensor &a) {
  const double *cells = a.as<double>();
  const double *found =
      std::find_if(cells, cells + a.elements(), [](double cell) { return !std::isfinite(cell); });
  if (found != cells + a.elements())
    call.fail("expected finite values, got " + numberText(*found));
}

/// The first element below the diagonal, row by row, that differs from its mirror image by more
/// than rounding.
std::optional<std::pair<int64_t, int64_t>> asymmetry(const Tensor &a) {
  int64_t n = a.shape()[0];
  const double *cells = a.as<double>();
  double largest = 0;
  for (int64_t i = 0; i < n * n; ++i)
    largest = std::max(largest, std::fabs(cells[i]));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < i; ++j)
      if (std::fabs(cells[i * n + j] - cells[j * n + i]) > 1e-9 * largest)
        return std::pair(i, j);
  return std::nullopt;
}

bool isSymmetric(const Tensor &a) { return !asymmetry(a); }

void expectSymmetric(const HostCall &call, const Tensor &a) {
  auto found = asymmetry(a);
  if (!found)
    return;
  auto [i, j] = *found;
  int64_t n = a.shape()[0];
  const double *cells = a.as<double>();
  call.fail("expected a symmetric matrix, got " + numberText(cells[i * n + j]) + " in row " +
            std::to_string(i + 1) + ", column " + std::to_string(j + 1) + " and " +
            numberText(cells[j * n + i]) + " in row " + std::to_string(j + 1) + ", column " +
            std::to_string(i + 1));
}

/// f of the eigenvalues of a symmetric matrix.
template <class Function> Tensor ofEigenvalues(const EigenFactors &factors, Function f) {
  int64_t n = factors.values.elements();
  Tensor scaled = newMatrix(n, n);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < n; ++j)
      scaled.as<double>()[i * n + j] =
          factors.vectors.as<double>()[i * n + j] * f(factors.values.as<double>()[j]);
  return denseOf(product(scaled, false, factors.vectors, true));
}

/// The root of a matrix without eigenvalues of 0 or below: X and Y converge to it and to its
/// inverse (Denman and Beavers).
Tensor iteratedRoot(const HostCall &call, Tensor x) {
  int64_t n = x.shape()[0];
  Tensor y = filled(0, n, n);
  for (int64_t i = 0; i < n; ++i)
    y.as<double>()[i * n + i] = 1;
  constexpr int kMaxIterations = 100;
  for (int i = 0; i < kMaxIterations; ++i) {
    auto ofX = invert(x, ThreadPool::global()), ofY = invert(y, ThreadPool::global());
    if (!ofX || !ofY)
      break;
    Tensor nextX = newMatrix(n, n), nextY = newMatrix(n, n);
    double change = 0, largest = 0;
    for (int64_t k = 0; k < n * n; ++k) {
      double before = x.as<double>()[k];
      nextX.as<double>()[k] = (before + ofY->as<double>()[k]) / 2;
      nextY.as<double>()[k] = (y.as<double>()[k] + ofX->as<double>()[k]) / 2;
      change = std::max(change, std::fabs(nextX.as<double>()[k] - before));
      largest = std::max(largest, std::fabs(nextX.as<double>()[k]));
    }
    x = nextX;
    y = nextY;
    if (change <= 1e-14 * largest)
      return x;
    if (!std::isfinite(change))
      break;
  }
  call.fail("the matrix has no real square root, or the iteration does not converge");
}

/// R with R %*% R = x
Value squareRoot(HostCall &call) {
  Tensor x = squareOperand(call);
  expectFinite(call, x);
  if (!isSymmetric(x))
    return iteratedRoot(call, x);
  auto factors = factorizeEigen(x, ThreadPool::global());
  if (!factors)
    call.fail("the iteration does not converge");
  const double *values = factors->values.as<double>();
  int64_t n = factors->values.elements();
  // Eigenvalues of 0 are tiny numbers of either sign.
  double tiny = n == 0 ? 0 : 1e-13 * static_cast<double>(n) * std::fabs(values[n - 1]);
  if (n > 0 && values[0] < -tiny)
    call.fail("the matrix has no real square root: an eigenvalue is " + numberText(values[0]));
  return ofEigenvalues(*factors, [](double value) { return std::sqrt(std::max(value, 0.0)); });
}

// --- Several results ---------------------------------------------------------------------------

Value results(std::initializer_list<Tensor> tensors) {
  auto list = std::make_shared<List>();
  for (const Tensor &tensor : tensors)
    list->entries.emplace_back("", tensor);
  return std::shared_ptr<const List>(std::move(list));
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
  static const HostTable table = {
      {"solve", solve}, {"inv", inverse}, {"cholesky", cholesky},
      {"det", det},     {"eigen", eigen}, {"lu", lu},
      {"qr", qr},       {"svd", svd},     {"sqrtMatrixJava", squareRoot}};
  return table;
}

} // namespace headrace::script
