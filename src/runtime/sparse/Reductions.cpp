#include "runtime/sparse/Reductions.h"

#include "runtime/sparse/RowBuilder.h"
#include "runtime/system/Error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::sparse {

namespace {

using Column = CsrMatrix::Column;

// An aggregate: its initial value, how one value enters it, and how two parts are combined.
struct Sum {
  static constexpr double start = 0;
  static double add(double total, double value) { return total + value; }
  static double join(double a, double b) { return a + b; }
};
struct SumOfSquares : Sum {
  static double add(double total, double value) { return total + value * value; }
};
struct Minimum {
  static constexpr double start = std::numeric_limits<double>::infinity();
  static double add(double least, double value) {
    return value < least || std::isnan(value) ? value : least;
  }
  static double join(double a, double b) { return add(a, b); }
};
struct Maximum {
  static constexpr double start = -std::numeric_limits<double>::infinity();
  static double add(double most, double value) {
    return value > most || std::isnan(value) ? value : most;
  }
  static double join(double a, double b) { return add(a, b); }
};

/// Calls `body` with the kind of fold; a mean is a sum until it is finished.
template <class Body> auto withFold(Aggregate aggregate, Body body) {
  switch (aggregate) {
  case Aggregate::Sum:
  case Aggregate::Mean:
    return body(Sum{});
  case Aggregate::SumOfSquares:
    return body(SumOfSquares{});
  case Aggregate::Minimum:
    return body(Minimum{});
  case Aggregate::Maximum:
    return body(Maximum{});
  }
  throw InternalError("an unknown aggregate");
}

/// Four lanes, so that no step waits for the one before it.
template <class Fold> double foldSpan(std::span<const double> values) {
  double lanes[4] = {Fold::start, Fold::start, Fold::start, Fold::start};
  size_t e = 0;
  for (; e + 4 <= values.size(); e += 4)
    for (size_t lane = 0; lane < 4; ++lane)
      lanes[lane] = Fold::add(lanes[lane], values[e + lane]);
  for (; e < values.size(); ++e)
    lanes[e % 4] = Fold::add(lanes[e % 4], values[e]);
  return Fold::join(Fold::join(lanes[0], lanes[1]), Fold::join(lanes[2], lanes[3]));
}

/// Adds what the stored values do not show: zeros, and the number of cells.
template <class Fold>
double finish(Aggregate aggregate, double folded, int64_t stored, int64_t cells) {
  if (aggregate == Aggregate::Mean)
    return folded / static_cast<double>(cells);
  return stored < cells ? Fold::add(folded, 0) : folded;
}

/// Parts of the rows, whose number follows from the sizes alone.
int64_t columnParts(const CsrMatrix &matrix) {
  constexpr int64_t most = 16;
  return std::clamp<int64_t>(matrix.nonzeros() / (4 * (matrix.cols() + grain / 4)), 1, most);
}

template <class Fold>
Tensor foldColumns(Aggregate aggregate, const CsrMatrix &matrix, ThreadPool &pool) {
  int64_t cols = matrix.cols(), parts = columnParts(matrix);
  std::vector<double> folded(parts * cols, Fold::start);
  std::vector<int64_t> stored(parts * cols);
  pool.parallelFor(parts, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t part = begin; part < end; ++part) {
      double *values = folded.data() + part * cols;
      int64_t *counts = stored.data() + part * cols;
      int64_t first = matrix.offsets()[firstRowOfPart(matrix, part, parts)];
      int64_t last = matrix.offsets()[firstRowOfPart(matrix, part + 1, parts)];
      for (int64_t e = first; e < last; ++e) {
        Column column = matrix.columns()[e];
        values[column] = Fold::add(values[column], matrix.values()[e]);
        ++counts[column];
      }
    }
  });
  Tensor result = Tensor::allocate(DType::F64, {1, cols});
  pool.parallelFor(cols, grain / parts, [&](int64_t begin, int64_t end, int) {
    for (int64_t col = begin; col < end; ++col) {
      double value = Fold::start;
      int64_t count = 0;
      for (int64_t part = 0; part < parts; ++part) {
        value = Fold::join(value, folded[part * cols + col]);
        count += stored[part * cols + col];
      }
      result.as<double>()[col] = finish<Fold>(aggregate, value, count, matrix.rows());
    }
  });
  return result;
}

} // namespace

double reduce(Aggregate aggregate, const CsrMatrix &matrix, ThreadPool &pool) {
  constexpr int64_t blockSize = 4096; // fixed: it decides the order of the sum
  int64_t count = matrix.nonzeros(), blocks = (count + blockSize - 1) / blockSize;
  return withFold(aggregate, [&]<class Fold>(Fold) {
    std::vector<double> folded(blocks);
    pool.parallelFor(blocks, grain / blockSize, [&](int64_t begin, int64_t end, int) {
      for (int64_t b = begin; b < end; ++b) {
        int64_t first = b * blockSize, size = std::min(blockSize, count - first);
        folded[b] = foldSpan<Fold>(matrix.values().subspan(first, size));
      }
    });
    double total = Fold::start;
    for (double part : folded)
      total = Fold::join(total, part);
    return finish<Fold>(aggregate, total, count, matrix.cells());
  });
}

Tensor reduceRows(Aggregate aggregate, const CsrMatrix &matrix, ThreadPool &pool) {
  Tensor result = Tensor::allocate(DType::F64, {matrix.rows(), 1});
  withFold(aggregate, [&]<class Fold>(Fold) {
    forRows(matrix, {}, pool, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        std::span<const double> values = matrix.valuesOf(row);
        result.as<double>()[row] = finish<Fold>(aggregate, foldSpan<Fold>(values),
                                                static_cast<int64_t>(values.size()), matrix.cols());
      }
    });
  });
  return result;
}

Tensor reduceColumns(Aggregate aggregate, const CsrMatrix &matrix, ThreadPool &pool) {
  return withFold(aggregate,
                  [&]<class Fold>(Fold) { return foldColumns<Fold>(aggregate, matrix, pool); });
}

} // namespace headrace::sparse
