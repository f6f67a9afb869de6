#include "runtime/sparse/Products.h"

#include "runtime/sparse/NonFinite.h"
#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>

namespace headrace::sparse {

namespace {

using Column = CsrMatrix::Column;

void checkInner(int64_t left, int64_t right, const char *what) {
  if (left != right)
    throw Error(ErrorKind::ShapeMismatch, std::string(what) + ": expected " + std::to_string(left) +
                                              " rows on the right, got " + std::to_string(right));
}

/// Four sums side by side, so that no addition waits for the one before it.
double dot(std::span<const Column> columns, std::span<const double> values, const double *x) {
  double sums[4] = {};
  size_t e = 0;
  for (; e + 4 <= columns.size(); e += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      sums[lane] += values[e + lane] * x[columns[e + lane]];
  for (; e < columns.size(); ++e)
    sums[e % 4] += values[e] * x[columns[e]];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// The dot product of two dense rows; eight lanes become whole vectors.
double dot(const double *a, const double *b, int64_t count) {
  double sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int64_t lane = 0; lane < 8; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  for (; i < count; ++i)
    sums[i % 8] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void addScaled(double *target, double factor, const double *source, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    target[i] += factor * source[i];
}

/// target[column, :] += value * b[row, :] over the entries of some rows and `width` columns of b.
void scatterRows(const CsrMatrix &a, int64_t begin, int64_t end, const double *b, double *target,
                 int64_t stride, int64_t width) {
  for (int64_t row = begin; row < end; ++row) {
    std::span<const Column> columns = a.columnsOf(row);
    std::span<const double> values = a.valuesOf(row);
    if (stride == 1)
      for (size_t e = 0; e < columns.size(); ++e)
        target[columns[e]] += values[e] * b[row];
    else
      for (size_t e = 0; e < columns.size(); ++e)
        addScaled(target + columns[e] * stride, values[e], b + row * stride, width);
  }
}

/// How many partial results to sum: a matter of sizes alone, never of threads, and no more than
/// what filling and adding them costs little compared with the product.
int64_t partialResults(const CsrMatrix &a, int64_t width) {
  constexpr int64_t most = 16;
  if (a.nonzeros() * width < 2 * grain)
    return 1;
  return std::clamp<int64_t>(a.nonzeros() / (2 * a.cols()), 1, most);
}

/// Few columns in b: parts of the rows go into results of their own, which are added in order.
void transposedByParts(const CsrMatrix &a, const double *b, double *result, int64_t width,
                       ThreadPool &pool) {
  int64_t parts = partialResults(a, width), size = a.cols() * width;
  Tensor others = Tensor::allocate(DType::F64, {parts - 1, size});
  auto partial = [&](int64_t part) {
    return part == 0 ? result : others.as<double>() + (part - 1) * size;
  };
  pool.parallelFor(parts, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part) {
      std::fill_n(partial(part), size, 0.0);
      scatterRows(a, firstRowOfPart(a, part, parts), firstRowOfPart(a, part + 1, parts), b,
                  partial(part), width, width);
    }
  });
  pool.parallelFor(parts > 1 ? size : 0, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = 1; part < parts; ++part)
      addScaled(result + begin, 1.0, partial(part) + begin, end - begin);
  });
}

/// Many columns in b: every thread takes some of them through the whole of a.
void transposedByPanels(const CsrMatrix &a, const double *b, double *result, int64_t width,
                        ThreadPool &pool) {
  constexpr int64_t cacheLine = 8;
  pool.parallelFor(width, cacheLine, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = 0; row < a.cols(); ++row)
      std::fill(result + row * width + begin, result + row * width + end, 0.0);
    scatterRows(a, 0, a.rows(), b + begin, result + begin, width, end - begin);
  });
}

} // namespace

Tensor product(const CsrMatrix &a, const Tensor &b, ThreadPool &pool) {
  auto [inner, width] = sizeOfDense(b, "matrix product");
  checkInner(a.cols(), inner, "matrix product");
  Tensor result = Tensor::allocate(DType::F64, {a.rows(), width});
  const auto *right = b.as<double>();
  auto *out = result.as<double>();
  forRows(a, {width, width + 1}, pool, [&, width = width](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      std::span<const Column> columns = a.columnsOf(row);
      std::span<const double> values = a.valuesOf(row);
      if (width == 1) {
        out[row] = dot(columns, values, right);
        continue;
      }
      std::fill_n(out + row * width, width, 0.0);
      for (size_t e = 0; e < columns.size(); ++e)
        addScaled(out + row * width, values[e], right + columns[e] * width, width);
    }
  });
  if (!allFinite(b))
    addUnstoredLeft(a, b, result);
  return result;
}

Tensor transposedProduct(const CsrMatrix &a, const Tensor &b, ThreadPool &pool) {
  constexpr int64_t manyColumns = 16;
  auto [inner, width] = sizeOfDense(b, "transposed matrix product");
  checkInner(a.rows(), inner, "transposed matrix product");
  Tensor result = Tensor::allocate(DType::F64, {a.cols(), width});
  if (result.elements() == 0)
    return result;
  if (width < manyColumns)
    transposedByParts(a, b.as<double>(), result.as<double>(), width, pool);
  else
    transposedByPanels(a, b.as<double>(), result.as<double>(), width, pool);
  if (!allFinite(b))
    addUnstoredTransposed(a, b, result);
  return result;
}

Tensor product(const Tensor &a, const CsrMatrix &b, ThreadPool &pool) {
  constexpr int64_t together = 8; // rows of a that share one reading of b
  auto [rows, inner] = sizeOfDense(a, "matrix product");
  checkInner(inner, b.rows(), "matrix product");
  if (rows == 1)
    return transposedProduct(b, a.reshaped({inner, 1}), pool).reshaped({1, b.cols()});
  Tensor result = Tensor::allocate(DType::F64, {rows, b.cols()});
  const auto *left = a.as<double>();
  auto *out = result.as<double>();
  int64_t perRow = b.nonzeros() + b.cols() + 1;
  int64_t rowsPerTask = std::max(together, grain / perRow);
  pool.parallelFor(rows, rowsPerTask, [&, inner = inner](int64_t begin, int64_t end, int) {
    std::fill(out + begin * b.cols(), out + end * b.cols(), 0.0);
    for (int64_t first = begin; first < end; first += together) {
      int64_t last = std::min(first + together, end);
      for (int64_t k = 0; k < inner; ++k) {
        std::span<const Column> columns = b.columnsOf(k);
        std::span<const double> values = b.valuesOf(k);
        for (int64_t row = first; row < last; ++row)
          for (size_t e = 0; e < columns.size(); ++e)
            out[row * b.cols() + columns[e]] += left[row * inner + k] * values[e];
      }
    }
  });
  if (!allFinite(a))
    addUnstoredRight(a, b, result);
  return result;
}

CsrMatrix sampledProduct(const CsrMatrix &pattern, const Tensor &u, const Tensor &v,
                         ThreadPool &pool) {
  auto [rows, rank] = sizeOfDense(u, "sampled product");
  auto [cols, rankOfV] = sizeOfDense(v, "sampled product");
  if (rows != pattern.rows() || cols != pattern.cols() || rank != rankOfV)
    throw Error(ErrorKind::ShapeMismatch,
                "sampled product: expected factors of " + std::to_string(pattern.rows()) + " and " +
                    std::to_string(pattern.cols()) + " rows and equal columns, got " +
                    shapeString(u.shape()) + " and " + shapeString(v.shape()));
  Tensor result = Tensor::allocate(DType::F64, {pattern.nonzeros()});
  const auto *left = u.as<double>(), *right = v.as<double>();
  auto *out = result.as<double>();
  forRows(pattern, {rank + 1, 1}, pool, [&, rank = rank](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t e = pattern.offsets()[row]; e < pattern.offsets()[row + 1]; ++e)
        out[e] = dot(left + row * rank, right + pattern.columns()[e] * rank, rank);
  });
  return pattern.withValues(std::move(result));
}

} // namespace headrace::sparse
