#include "runtime/sparse/Elementwise.h"

#include "runtime/sparse/NonFinite.h"
#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <cmath>

namespace headrace::sparse {

namespace {

using Column = CsrMatrix::Column;

double apply(Binary function, double x, double y) {
  switch (function) {
  case Binary::Add:
    return x + y;
  case Binary::Subtract:
    return x - y;
  case Binary::Multiply:
    return x * y;
  case Binary::Minimum:
    return x < y || std::isnan(x) ? x : y;
  case Binary::Maximum:
    return x > y || std::isnan(x) ? x : y;
  case Binary::NotEqual:
    return x != y;
  case Binary::Less:
    return x < y;
  case Binary::Greater:
    return x > y;
  case Binary::And:
    return x != 0 && y != 0;
  case Binary::Or:
    return x != 0 || y != 0;
  }
  throw InternalError("an unknown sparse function");
}

/// One row of the result, by merging a row of each. `needsBoth`: cells that one of them does not
/// store are 0.
template <Binary function, bool needsBoth>
void combineRow(std::span<const Column> columnsA, std::span<const double> a,
                std::span<const Column> columnsB, std::span<const double> b, RowSink &sink) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    Column left = columnsA[i], right = columnsB[j];
    if (left == right)
      sink.append(left, apply(function, a[i++], b[j++]));
    else if (needsBoth)
      ++(left < right ? i : j);
    else if (left < right)
      sink.append(left, apply(function, a[i++], 0));
    else
      sink.append(right, apply(function, 0, b[j++]));
  }
  if (!needsBoth) {
    for (; i < a.size(); ++i)
      sink.append(columnsA[i], apply(function, a[i], 0));
    for (; j < b.size(); ++j)
      sink.append(columnsB[j], apply(function, 0, b[j]));
  }
  sink.endRow();
}

template <Binary function, bool needsBoth = function == Binary::And>
CsrMatrix combineAll(const CsrMatrix &a, const CsrMatrix &b, ThreadPool &pool) {
  return buildRows(a.rows(), a.cols(), a.nonzeros() + b.nonzeros() + a.rows(), pool,
                   [&](int64_t begin, int64_t end, int, RowSink &sink) {
                     for (int64_t row = begin; row < end; ++row)
                       combineRow<function, needsBoth>(a.columnsOf(row), a.valuesOf(row),
                                                       b.columnsOf(row), b.valuesOf(row), sink);
                   });
}

/// f(value, dense cell) at the stored cells of x, if a size of 1 is repeated.
template <class Function>
CsrMatrix atNonzeros(const CsrMatrix &x, const Tensor &dense, const char *what, ThreadPool &pool,
                     Function function) {
  auto [rows, cols] = sizeOfDense(dense, what);
  if ((rows != x.rows() && rows != 1) || (cols != x.cols() && cols != 1))
    throw Error(ErrorKind::ShapeMismatch,
                std::string(what) + ": expected a matrix of " + shapeString({x.rows(), x.cols()}) +
                    ", or a row or column of it, got " + shapeString(dense.shape()));
  int64_t rowStep = rows == 1 ? 0 : cols, columnStep = cols == 1 ? 0 : 1;
  Tensor result = Tensor::allocate(DType::F64, {x.nonzeros()});
  auto *out = result.as<double>();
  forRows(x, {}, pool, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const double *other = dense.as<double>() + row * rowStep;
      for (int64_t e = x.offsets()[row]; e < x.offsets()[row + 1]; ++e)
        out[e] = function(x.values()[e], other[x.columns()[e] * columnStep]);
    }
  });
  return x.withValues(std::move(result)).withoutZeros(pool);
}

} // namespace

CsrMatrix combine(Binary function, const CsrMatrix &a, const CsrMatrix &b, ThreadPool &pool) {
  if (a.rows() != b.rows() || a.cols() != b.cols())
    throw Error(ErrorKind::ShapeMismatch, "sparse matrices: expected equal sizes, got " +
                                              shapeString({a.rows(), a.cols()}) + " and " +
                                              shapeString({b.rows(), b.cols()}));
  switch (function) {
  case Binary::Add:
    return combineAll<Binary::Add>(a, b, pool);
  case Binary::Subtract:
    return combineAll<Binary::Subtract>(a, b, pool);
  case Binary::Multiply:
    if (allFinite(a.values()) && allFinite(b.values()))
      return combineAll<Binary::Multiply, true>(a, b, pool);
    return combineAll<Binary::Multiply>(a, b, pool);
  case Binary::Minimum:
    return combineAll<Binary::Minimum>(a, b, pool);
  case Binary::Maximum:
    return combineAll<Binary::Maximum>(a, b, pool);
  case Binary::NotEqual:
    return combineAll<Binary::NotEqual>(a, b, pool);
  case Binary::Less:
    return combineAll<Binary::Less>(a, b, pool);
  case Binary::Greater:
    return combineAll<Binary::Greater>(a, b, pool);
  case Binary::And:
    return combineAll<Binary::And>(a, b, pool);
  case Binary::Or:
    return combineAll<Binary::Or>(a, b, pool);
  }
  throw InternalError("an unknown sparse function");
}

CsrMatrix multiply(const CsrMatrix &x, const Tensor &dense, ThreadPool &pool) {
  return atNonzeros(x, dense, "sparse times dense", pool, [](double a, double b) { return a * b; });
}

CsrMatrix divide(const CsrMatrix &x, const Tensor &dense, ThreadPool &pool) {
  return atNonzeros(x, dense, "sparse by dense", pool, [](double a, double b) { return a / b; });
}

CsrMatrix mapNonzeros(const CsrMatrix &x, MapValues map, ThreadPool &pool) {
  Tensor result = Tensor::allocate(DType::F64, {x.nonzeros()});
  std::span<double> out(result.as<double>(), x.values().size());
  pool.parallelFor(x.nonzeros(), grain, [&](int64_t begin, int64_t end, int) {
    map(x.values().subspan(begin, end - begin), out.subspan(begin, end - begin));
  });
  return x.withValues(std::move(result)).withoutZeros(pool);
}

} // namespace headrace::sparse
