#pragma once

#include "runtime/sparse/CsrMatrix.h"

/// NaN and infinity in sparse products: 0 times NaN or infinity is NaN, as it is for dense
/// matrices. Products of stored cells leave out the zeros that are not stored; if the other
/// factor is not finite, these functions add their part.
namespace headrace::sparse {

/// Whether no value is NaN or infinite.
bool allFinite(std::span<const double> values);
bool allFinite(const Tensor &dense);

/// `result` is a %*% b of the stored cells of a.
void addUnstoredLeft(const CsrMatrix &a, const Tensor &b, Tensor &result);
/// `result` is t(a) %*% b.
void addUnstoredTransposed(const CsrMatrix &a, const Tensor &b, Tensor &result);
/// `result` is a %*% b of the stored cells of b.
void addUnstoredRight(const Tensor &a, const CsrMatrix &b, Tensor &result);

} // namespace headrace::sparse
