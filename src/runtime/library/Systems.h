// Systems of linear equations for batches of matrices, by the LAPACK inside OpenBLAS: the library
// routines "openblas.lu.f64", "openblas.cholesky.f64" and those of f32, which compute in double.
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <span>
#include <string>

namespace headrace {

/// Matrices [batch, unknowns, unknowns] and right-hand sides [batch, unknowns, columns], row-major;
/// complex ones have a last dimension of 2.
struct Systems {
  int64_t batch, unknowns, columns;
  bool complex;
  int64_t matrices = 0; // that a thread takes at once, at least; 0: by their size
};
inline constexpr int64_t maxMatricesAtOnce = 1 << 20;

/// The routines behind steps: operands matrices, right-hand sides, solutions; parameters are the
/// members of Systems, of which the last may be left out. Cholesky's read the lower triangles. They
/// throw Error if a matrix is singular, or not positive definite, which name the step and the first
/// such matrix.
template <class T>
void runLuStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
               ThreadPool &pool);
template <class T>
void runCholeskyStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                     ThreadPool &pool);
template <class T>
std::string systemsStepFault(std::span<const int64_t> parameters,
                             std::span<const int64_t> operandBytes);

} // namespace headrace
