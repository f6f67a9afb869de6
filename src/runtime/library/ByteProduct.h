// Products of matrices of 8-bit integers, summed exactly in 32 bits: the library routines
// "int8.gemm" and "int8.packed_gemm"; with the patches of an image as the first matrix, "int8.conv"
// and "int8.packed_conv"; with sums that become bytes, "int8.finished_gemm" and the like.
#pragma once

#include "runtime/library/ByteKernels.h"
#include "runtime/library/BytePatches.h"
#include "runtime/library/BytePlaces.h"
#include "runtime/library/Gemm.h"
#include "runtime/library/Int8Epilogue.h"
#include "runtime/tensor/Tensor.h"

#include <optional>

namespace headrace {

/// C = op(A) op(B) with bytes that are signed or not, and sums that wrap around at 32 bits.
struct ByteProduct {
  Gemm gemm;
  bool unsignedA = false, unsignedB = false;
  /// Where A is an image, whose patches are the rows: one product, of m rows of k bytes.
  std::optional<BytePatches> patches = {};
  /// Each run of the patches takes whole steps (ByteKernels.h) of packed columns.
  bool padsRuns = false;
};

/// B in the order in which kernels read it: for each 16 columns their sums in 32 bits, then the
/// panel (ByteKernels.h), filled up with zeros. The order is the same for all CPUs.
Tensor packedColumns(const ByteProduct &product, const uint8_t *b);
int64_t packedBytes(const ByteProduct &product);

/// Computes it; `packed`: B is what packedColumns made of it, and the same for the whole batch.
void multiplyBytes(const ByteProduct &product, const uint8_t *a, const uint8_t *b, int32_t *c,
                   bool packed, ThreadPool &pool, bytes::Kind kind = bytes::bestKind());

/// One product whose sums become bytes; B is packed. `other` is a matrix of m rows of n bytes, or
/// null if the finish takes none.
void multiplyToBytes(const ByteProduct &product, const Int8EpilogueWriter &finisher,
                     const BytePlaces &places, const uint8_t *a, const uint8_t *b,
                     const uint8_t *other, uint8_t *to, ThreadPool &pool,
                     bytes::Kind kind = bytes::bestKind());

/// The routines behind steps; parameters: the members of Gemm in order, whether A is unsigned,
/// whether B is; of a convolution those of BytePatches after them.
template <bool packed>
void runByteProductStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                        ThreadPool &pool);
template <bool packed>
std::string byteProductStepFault(std::span<const int64_t> parameters,
                                 std::span<const int64_t> operandBytes);

/// Products to bytes: operands A, packed columns, the finish's record, the other tensor if it
/// adds one, and the result; parameters: as above, then the form of the finish and BytePlaces'.
template <bool isConvolution>
void runFinishedProductStep(const Step &step, void *const *buffers,
                            std::span<const int64_t> parameters, ThreadPool &pool);
template <bool isConvolution, bool addsOther>
std::string finishedProductStepFault(std::span<const int64_t> parameters,
                                     std::span<const int64_t> operandBytes);

} // namespace headrace
