#pragma once

#include "runtime/sparse/CsrMatrix.h"

/// Element-wise functions that map zeros to zeros, so that their results are sparse too. Others
/// (x + 1, x == y, exp(x), ...) are for dense matrices.
namespace headrace::sparse {

/// Functions f(x, y) with f(0, 0) = 0. Comparisons and logic give 0 or 1; NaN counts as true.
enum class Binary { Add, Subtract, Multiply, Minimum, Maximum, NotEqual, Less, Greater, And, Or };

/// Applies the function to the cells of two matrices of equal dimensions.
CsrMatrix combine(Binary function, const CsrMatrix &a, const CsrMatrix &b,
                  ThreadPool &pool = ThreadPool::global());

/// x * dense; `dense` has x's size, or is a row or a column that is repeated over it. If x is
/// not stored the product is 0, so that this is the product of all cells only if `dense` is finite.
CsrMatrix multiply(const CsrMatrix &x, const Tensor &dense,
                   ThreadPool &pool = ThreadPool::global());

/// x / dense, likewise; if x is not stored the quotient is 0, so that this is the quotient of
/// all cells only if `dense` has no zero and no NaN.
CsrMatrix divide(const CsrMatrix &x, const Tensor &dense, ThreadPool &pool = ThreadPool::global());

/// Applies a function that maps 0 to 0 to the stored values, a run of them at a time; `map` reads
/// `in` and writes `out`, both as long, and is called from several threads.
using MapValues = FunctionRef<void(std::span<const double> in, std::span<double> out)>;
CsrMatrix mapNonzeros(const CsrMatrix &x, MapValues map, ThreadPool &pool = ThreadPool::global());

} // namespace headrace::sparse
