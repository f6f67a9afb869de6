#include "runtime/library/LinearAlgebra.h"

#include "runtime/library/OpenBlas.h"
#include "runtime/matrix/Matrix.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <climits>
#include <cmath>
#include <vector>

namespace headrace {

namespace {

using namespace blas;

// The block size of work that threads share: columns or rows of a factorization, columns of right
// sides.
constexpr int64_t kBlock = 128;
int64_t blocks(int64_t size) { return dividedUp(size, kBlock); }

const OpenBlas &library() {
  const OpenBlas *found = openBlas();
  if (!found)
    throw Error(ErrorKind::Unsupported,
                "expected OpenBLAS, which this machine lacks: " + std::string(getOpenBlas));
  return *found;
}

int narrow(int64_t size) {
  if (size > INT_MAX)
    throw Error(ErrorKind::Unsupported,
                "LAPACK expects sizes up to 2^31 - 1, got " + std::to_string(size));
  return static_cast<int>(size);
}

Tensor zeros(int64_t rows, int64_t cols) {
  Tensor result = Tensor::allocate(DType::F64, {rows, cols});
  std::fill_n(result.as<double>(), result.elements(), 0.0);
  return result;
}

/// A copy that LAPACK may write to, in its order: row j of the result is column j.
Tensor columnsOf(const Tensor &a, ThreadPool &pool) {
  Tensor columns = Tensor::allocate(DType::F64, {a.shape()[1], a.shape()[0]});
  transposeInto(a, columns, pool);
  return columns;
}

/// P a = L U, column by column.
struct Lu {
  Tensor columns;
  std::vector<int> pivots; // row i was exchanged with row pivots[i], from 1
  bool singular = false;
};

/// The usual blocked elimination: a panel of columns is factorized, then all other columns follow
/// it, each block of them on its own.
Lu eliminate(const Tensor &a, ThreadPool &pool) {
  const OpenBlas &blas = library();
  int n = narrow(a.shape()[0]), one = 1;
  Lu lu{columnsOf(a, pool), std::vector<int>(n)};
  double *cells = lu.columns.as<double>();
  auto at = [&](int64_t row, int64_t column) { return cells + column * n + row; };
  for (int64_t panel = 0; panel < blocks(n); ++panel) {
    int done = narrow(panel * kBlock), width = std::min<int>(kBlock, n - done), below = n - done;
    int info = 0, first = done + 1, last = done + width;
    blas.lapack.getrf(&below, &width, at(done, done), &n, lu.pivots.data() + done, &info);
    lu.singular |= info > 0;
    for (int i = done; i < last; ++i)
      lu.pivots[i] += done;
    pool.parallelFor(blocks(n), 1, [&](int64_t begin, int64_t end, int) {
      for (int64_t block = begin; block < end; ++block) {
        if (block == panel)
          continue;
        int64_t column = block * kBlock;
        int columns = narrow(std::min(kBlock, n - column)), rest = n - last;
        blas.lapack.laswp(&columns, at(0, column), &n, &first, &last, lu.pivots.data(), &one);
        if (block < panel)
          continue;
        blas.f64.trsm(ColumnMajor, Left, Lower, Plain, Unit, width, columns, 1, at(done, done), n,
                      at(done, column), n);
        if (rest > 0)
          blas.f64.gemm(ColumnMajor, Plain, Plain, rest, columns, width, -1, at(last, done), n,
                        at(done, column), n, 1, at(last, column), n);
      }
    });
  }
  return lu;
}

/// Columns of right-hand sides become those of the solution.
void substitute(const Lu &lu, Tensor &columns, ThreadPool &pool) {
  int n = narrow(lu.columns.shape()[0]);
  int64_t count = columns.shape()[0];
  if (n == 0 || count == 0)
    return;
  pool.parallelFor(blocks(count), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t block = begin; block < end; ++block) {
      int some = narrow(std::min(kBlock, count - block * kBlock)), info = 0;
      library().lapack.getrs("N", &n, &some, lu.columns.as<double>(), &n, lu.pivots.data(),
                             columns.as<double>() + block * kBlock * n, &n, &info, 1);
    }
  });
}

/// -1 if the element of the vector with the largest magnitude, the first of equal ones, is
/// negative; else 1.
double signOf(const double *vector, int64_t size) {
  const double *largest = std::max_element(
      vector, vector + size, [](double a, double b) { return std::fabs(a) < std::fabs(b); });
  return size > 0 && *largest < 0 ? -1 : 1;
}

void scale(double *vector, int64_t size, double factor) {
  for (int64_t i = 0; i < size; ++i)
    vector[i] *= factor;
}

} // namespace

std::optional<Tensor> solveSystem(const Tensor &a, const Tensor &b, ThreadPool &pool) {
  Lu lu = eliminate(a, pool);
  if (lu.singular)
    return std::nullopt;
  Tensor columns = columnsOf(b, pool);
  substitute(lu, columns, pool);
  return columnsOf(columns, pool);
}

std::optional<Tensor> invert(const Tensor &a, ThreadPool &pool) {
  Lu lu = eliminate(a, pool);
  if (lu.singular)
    return std::nullopt;
  int64_t n = a.shape()[0];
  Tensor columns = zeros(n, n);
  for (int64_t i = 0; i < n; ++i)
    columns.as<double>()[i * n + i] = 1;
  substitute(lu, columns, pool);
  return columnsOf(columns, pool);
}

double determinant(const Tensor &a, ThreadPool &pool) {
  Lu lu = eliminate(a, pool);
  int64_t n = a.shape()[0];
  double result = 1;
  for (int64_t i = 0; i < n; ++i)
    result *= lu.columns.as<double>()[i * n + i] * (lu.pivots[i] == i + 1 ? 1 : -1);
  return result;
}

bool factorizeCholesky(Tensor &a, ThreadPool &pool) {
  const OpenBlas &blas = library();
  int n = narrow(a.shape()[0]);
  auto at = [cells = a.as<double>(), n](int64_t row, int64_t column) {
    return cells + row * n + column;
  };
  for (int64_t panel = 0; panel < blocks(n); ++panel) {
    int done = narrow(panel * kBlock), width = std::min<int>(kBlock, n - done), info = 0;
    // Our lower triangle is the upper one of LAPACK's order.
    blas.lapack.potrf("U", &width, at(done, done), &n, &info, 1);
    for (int i = done; i < done + width; ++i)
      if (info != 0 || !(*at(i, i) > 0)) // NaN is not noticed by LAPACK
        return false;
    auto eachBlockBelow = [&](auto body) {
      pool.parallelFor(blocks(n) - panel - 1, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t block = panel + 1 + begin; block < panel + 1 + end; ++block)
          body(block * kBlock, narrow(std::min(kBlock, n - block * kBlock)));
      });
    };
    eachBlockBelow([&](int64_t row, int rows) {
      blas.f64.trsm(RowMajor, Right, Lower, Transposed, NonUnit, rows, width, 1, at(done, done), n,
                    at(row, done), n);
    });
    int next = done + width;
    eachBlockBelow([&](int64_t row, int rows) {
      blas.f64.gemm(RowMajor, Plain, Transposed, rows, narrow(row + rows - next), width, -1,
                    at(row, done), n, at(next, done), n, 1, at(row, next), n);
    });
  }
  for (int64_t i = 0; i < n; ++i)
    std::fill(at(i, i) + 1, at(i, n), 0.0);
  return true;
}

LuFactors factorizeLu(const Tensor &a, ThreadPool &pool) {
  Lu lu = eliminate(a, pool);
  int64_t n = a.shape()[0];
  std::vector<int64_t> order(n); // which row of a stands where
  for (int64_t i = 0; i < n; ++i)
    order[i] = i;
  for (int64_t i = 0; i < n; ++i)
    std::swap(order[i], order[lu.pivots[i] - 1]);
  LuFactors factors{zeros(n, n), zeros(n, n), zeros(n, n)};
  for (int64_t i = 0; i < n; ++i) {
    factors.p.as<double>()[i * n + order[i]] = 1;
    factors.l.as<double>()[i * n + i] = 1;
    for (int64_t j = 0; j < n; ++j)
      (j < i ? factors.l : factors.u).as<double>()[i * n + j] = lu.columns.as<double>()[j * n + i];
  }
  return factors;
}

QrFactors factorizeQr(const Tensor &a, ThreadPool &pool) {
  const OpenBlas &blas = library();
  int m = narrow(a.shape()[0]), n = narrow(a.shape()[1]), reflectors = std::min(m, n);
  QrFactors factors{zeros(m, n), zeros(m, n)};
  if (reflectors == 0)
    return factors;
  Tensor columns = columnsOf(a, pool);
  double *cells = columns.as<double>();
  std::vector<double> tau(reflectors), work(1);
  int query = -1, info = 0;
  blas.lapack.geqrf(&m, &n, cells, &m, tau.data(), work.data(), &query, &info);
  work.resize(static_cast<size_t>(work[0]));
  int size = narrow(static_cast<int64_t>(work.size()));
  blas.lapack.geqrf(&m, &n, cells, &m, tau.data(), work.data(), &size, &info);
  double *h = factors.h.as<double>(), *r = factors.r.as<double>();
  for (int64_t j = 0; j < reflectors; ++j) {
    // LAPACK leaves out a reflector that has nothing to do; ours then turns the row around.
    bool none = tau[j] == 0;
    h[j * n + j] = none ? 2 : tau[j];
    for (int64_t i = j + 1; i < m; ++i)
      h[i * n + j] = tau[j] * cells[j * m + i];
    for (int64_t column = j; column < n; ++column)
      r[j * n + column] = none ? -cells[column * m + j] : cells[column * m + j];
  }
  return factors;
}

std::optional<EigenFactors> factorizeEigen(const Tensor &a, ThreadPool &pool) {
  const OpenBlas &blas = library();
  int n = narrow(a.shape()[0]);
  Tensor values = zeros(n, 1);
  if (n == 0)
    return EigenFactors{values, zeros(0, 0)};
  Tensor vectors = columnsOf(a, pool);
  std::vector<double> work(1);
  std::vector<int> integers(1);
  int query = -1, info = 0;
  blas.lapack.syevd("V", "L", &n, vectors.as<double>(), &n, values.as<double>(), work.data(),
                    &query, integers.data(), &query, &info, 1, 1);
  work.resize(static_cast<size_t>(work[0]));
  integers.resize(static_cast<size_t>(integers[0]));
  int size = narrow(static_cast<int64_t>(work.size()));
  int integerSize = narrow(static_cast<int64_t>(integers.size()));
  blas.lapack.syevd("V", "L", &n, vectors.as<double>(), &n, values.as<double>(), work.data(), &size,
                    integers.data(), &integerSize, &info, 1, 1);
  if (info != 0)
    return std::nullopt;
  for (int64_t j = 0; j < n; ++j) {
    double *vector = vectors.as<double>() + j * n;
    scale(vector, n, signOf(vector, n));
  }
  return EigenFactors{values, columnsOf(vectors, pool)};
}

std::optional<SvdFactors> factorizeSvd(const Tensor &a, ThreadPool &pool) {
  const OpenBlas &blas = library();
  int m = narrow(a.shape()[0]), n = narrow(a.shape()[1]), p = std::min(m, n);
  SvdFactors factors{zeros(m, p), zeros(p, p), zeros(n, p)};
  if (p == 0)
    return factors;
  Tensor cells = columnsOf(a, pool), u = zeros(p, m);
  std::vector<double> values(p), work(1);
  std::vector<int> integers(8 * static_cast<size_t>(p));
  int query = -1, info = 0;
  // The right vectors come as rows of t(V) in LAPACK's order: V in ours.
  double *v = factors.v.as<double>();
  blas.lapack.gesdd("S", &m, &n, cells.as<double>(), &m, values.data(), u.as<double>(), &m, v, &p,
                    work.data(), &query, integers.data(), &info, 1);
  work.resize(static_cast<size_t>(work[0]));
  int size = narrow(static_cast<int64_t>(work.size()));
  blas.lapack.gesdd("S", &m, &n, cells.as<double>(), &m, values.data(), u.as<double>(), &m, v, &p,
                    work.data(), &size, integers.data(), &info, 1);
  if (info != 0)
    return std::nullopt;
  for (int64_t j = 0; j < p; ++j) {
    double *left = u.as<double>() + j * m;
    double sign = signOf(left, m);
    scale(left, m, sign);
    for (int64_t i = 0; i < n; ++i)
      v[i * p + j] *= sign;
    factors.s.as<double>()[j * p + j] = values[j];
  }
  factors.u = columnsOf(u, pool);
  return factors;
}

} // namespace headrace
