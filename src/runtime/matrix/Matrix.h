#pragma once

#include "runtime/sparse/CsrMatrix.h"
#include "runtime/tensor/Tensor.h"

#include <variant>

namespace headrace {

/// A matrix of doubles in either format: a dense f64 tensor of rank 2, or CSR.
using Matrix = std::variant<Tensor, CsrMatrix>;

/// The dimensions of a matrix in either format.
int64_t rowsOf(const Matrix &matrix);
int64_t colsOf(const Matrix &matrix);

/// The number of cells that are not 0; counted if the matrix is dense.
int64_t nonzerosOf(const Matrix &matrix, ThreadPool &pool = ThreadPool::global());

/// The matrix in one format; shares its memory if it has that format.
Tensor denseOf(const Matrix &matrix, ThreadPool &pool = ThreadPool::global());
CsrMatrix sparseOf(const Matrix &matrix, ThreadPool &pool = ThreadPool::global());

/// The transpose of a dense matrix, written to one of its sizes.
void transposeInto(const Tensor &matrix, Tensor &result, ThreadPool &pool = ThreadPool::global());

/// In the format that `preferSparse` says; the same matrix if that is its format.
Matrix inPreferredFormat(Matrix matrix, ThreadPool &pool = ThreadPool::global());

} // namespace headrace
