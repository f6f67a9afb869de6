#pragma once

#include "runtime/sparse/CsrMatrix.h"

/// Matrix products with a sparse factor. Each element is summed in one fixed order: results do not
/// depend on the number of threads. Cells that are not stored take no part (see CsrMatrix).
namespace headrace::sparse {

/// a %*% b, dense.
Tensor product(const CsrMatrix &a, const Tensor &b, ThreadPool &pool = ThreadPool::global());
Tensor product(const Tensor &a, const CsrMatrix &b, ThreadPool &pool = ThreadPool::global());

/// t(a) %*% b without a transpose, dense.
Tensor transposedProduct(const CsrMatrix &a, const Tensor &b,
                         ThreadPool &pool = ThreadPool::global());

/// a %*% b, sparse however many nonzeros it has.
CsrMatrix product(const CsrMatrix &a, const CsrMatrix &b, ThreadPool &pool = ThreadPool::global());

/// Sampled dense-dense product (SDDMM): u %*% t(v) at the stored cells of `pattern` only; keeps
/// that pattern, zeros included. For sum(X * log(U %*% t(V) + eps)), instead of a dense rows x
/// cols product.
CsrMatrix sampledProduct(const CsrMatrix &pattern, const Tensor &u, const Tensor &v,
                         ThreadPool &pool = ThreadPool::global());

} // namespace headrace::sparse
