// Linear systems and factorizations, by the LAPACK inside OpenBLAS. Matrices are dense f64
// tensors of rank 2, row-major; square ones if nothing else is said. Large LU and Cholesky
// factorizations are cut into blocks that our threads share; the others run on the calling thread.
// Results do not depend on the number of threads.
#pragma once

#include "runtime/system/ThreadPool.h"
#include "runtime/tensor/Tensor.h"

#include <optional>

namespace headrace {

/// x with a x = b, for any number of columns of b; none if a is singular. All functions here
/// throw Error, naming what to install, if OpenBLAS is not on this machine.
std::optional<Tensor> solveSystem(const Tensor &a, const Tensor &b, ThreadPool &pool);
std::optional<Tensor> invert(const Tensor &a, ThreadPool &pool);
double determinant(const Tensor &a, ThreadPool &pool);

/// The lower triangle of `a` becomes L with L t(L) = a, the upper one 0. False if `a` is not
/// positive definite; its cells are then of no use.
bool factorizeCholesky(Tensor &a, ThreadPool &pool);

/// P a = L U: P a permutation, L with ones on its diagonal. U of a singular matrix has zeros there.
struct LuFactors {
  Tensor p, l, u;
};
LuFactors factorizeLu(const Tensor &a, ThreadPool &pool);

/// a = Q R for any m x n. Column j of H is a reflector, Q_j = I - h t(h) / h[j] and Q = Q_1 Q_2
/// ...; the diagonal of R has the opposite sign of what the reflector found there.
struct QrFactors {
  Tensor h, r;
};
QrFactors factorizeQr(const Tensor &a, ThreadPool &pool);

/// a = V diag(w) t(V) for a symmetric matrix, of which the lower triangle is read: w ascending, a
/// column; the largest element of every column of V, the first of equal ones, is positive. None
/// if the iteration does not converge.
struct EigenFactors {
  Tensor values, vectors;
};
std::optional<EigenFactors> factorizeEigen(const Tensor &a, ThreadPool &pool);

/// a = U S t(V) for any m x n and p = min(m, n): U m x p, S p x p and diagonal, descending, V n x
/// p; signs as above, by the columns of U. None if the iteration does not converge.
struct SvdFactors {
  Tensor u, s, v;
};
std::optional<SvdFactors> factorizeSvd(const Tensor &a, ThreadPool &pool);

} // namespace headrace
