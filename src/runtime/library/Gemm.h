// Products of matrices by OpenBLAS on our threads: the library routines "openblas.sgemm" and
// "openblas.dgemm".
#pragma once

#include "runtime/program/Program.h"
#include "runtime/system/ThreadPool.h"

#include <array>
#include <span>
#include <string>

namespace headrace {

/// C = op(A) op(B) for a batch of row-major matrices. Strides lead from one matrix of the batch to
/// the next, in elements; 0: all share one.
struct Gemm {
  int64_t batch, m, n, k, transA, transB, strideA, strideB, strideC, lda, ldb, ldc;
  /// The blocks that the work is cut into: rows and columns of the result, and what is summed over.
  /// 0: as the sizes suggest.
  int64_t rowBlock = 0, columnBlock = 0, depthBlock = 0;

  /// One product of matrices without gaps.
  static Gemm of(int64_t m, int64_t n, int64_t k, bool transA, bool transB) {
    return {1, m, n, k, transA, transB, 0, 0, 0, transA ? m : k, transB ? k : n, n};
  }
};

/// Computes it for T float or double; needs openBlas(). The product of a matrix with its own
/// transpose takes half the arithmetic and is exactly symmetric. Results do not depend on the
/// number of threads. `what` names it in errors.
template <class T>
void multiply(const Gemm &gemm, const T *a, const T *b, T *c, ThreadPool &pool,
              const std::string &what);

/// Why a product cannot be cut into such blocks; empty if it can. A size that is not known is
/// given as 0.
std::string refusalOfBlocks(const Gemm &gemm);

/// The routine behind steps; parameters are the members of Gemm in order, those of blocks together
/// or not at all.
template <class T>
void runGemmStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                 ThreadPool &pool);
/// The fault in its sizes for operands of that many bytes; empty for a sound step.
template <class T>
std::string gemmStepFault(std::span<const int64_t> parameters,
                          std::span<const int64_t> operandBytes);

/// Like `gemmStepFault`, for operands A, B and C whose elements take this many bytes.
std::string gemmFault(std::span<const int64_t> parameters, std::span<const int64_t> operandBytes,
                      std::array<int64_t, 3> elementBytes);

} // namespace headrace
