#pragma once

#include "runtime/sparse/CsrMatrix.h"

/// Aggregates over all cells, the zeros that are not stored among them. Results do not depend on
/// the number of threads. Over no cells at all: sums are 0, minima Inf, maxima -Inf, means NaN.
namespace headrace::sparse {

enum class Aggregate { Sum, SumOfSquares, Mean, Minimum, Maximum };

/// Reduces all cells.
double reduce(Aggregate aggregate, const CsrMatrix &matrix,
              ThreadPool &pool = ThreadPool::global());

/// Reduces every row; the result is rows x 1.
Tensor reduceRows(Aggregate aggregate, const CsrMatrix &matrix,
                  ThreadPool &pool = ThreadPool::global());

/// Reduces every column; the result is 1 x cols.
Tensor reduceColumns(Aggregate aggregate, const CsrMatrix &matrix,
                     ThreadPool &pool = ThreadPool::global());

} // namespace headrace::sparse
