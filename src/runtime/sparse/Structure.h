#pragma once

#include "runtime/sparse/CsrMatrix.h"

/// Moving cells of sparse matrices about.
namespace headrace::sparse {

/// The transpose, with columns of each row in ascending order.
CsrMatrix transpose(const CsrMatrix &matrix, ThreadPool &pool = ThreadPool::global());

/// Half-open, 0-based.
struct Range {
  int64_t begin, end;
};

/// Some rows and columns. Whole rows share the memory of the matrix.
CsrMatrix slice(const CsrMatrix &matrix, Range rows, Range cols,
                ThreadPool &pool = ThreadPool::global());

/// These rows in this order; a row may be picked again.
CsrMatrix pickRows(const CsrMatrix &matrix, std::span<const int64_t> rows,
                   ThreadPool &pool = ThreadPool::global());

/// One next to the other, of equal rows; at least one.
CsrMatrix bindColumns(std::span<const CsrMatrix> parts, ThreadPool &pool = ThreadPool::global());

/// One below the other, of equal columns; at least one.
CsrMatrix bindRows(std::span<const CsrMatrix> parts);

} // namespace headrace::sparse
