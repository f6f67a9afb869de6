// The rows of the first operand of an int8 matmul as kernels read them: where they are, or
// copied into the order that the kernels of a CPU want.
#pragma once

#include "runtime/library/ByteKernels.h"
#include "runtime/library/BytePatches.h"
#include "runtime/library/ByteProduct.h"
#include "runtime/system/AlignedMemory.h"

#include <optional>
#include <vector>

namespace headrace::bytes {

// Steps of one pass over the sum: 64 columns of it are 24 KiB, which stay in the first cache with
// a tile of rows.
inline constexpr int64_t passSteps = 96;
// Rows that a thread takes at once: a pass of them stays in the second cache.
inline constexpr int64_t blockRows = 16 * maxRows;

/// The sum over a row: runs of bytes, each of which takes whole steps of the second operand, too.
struct Runs {
  int64_t count, bytes;
  int64_t length() const;
  int64_t steps() const { return count * length() / stepRows; }
};
Runs runsOf(const ByteProduct &product);

/// Rows of one pass.
struct RowBlock {
  std::array<const uint8_t *, blockRows> rows;
  const int32_t *offsets; // of each step, from there

  std::array<int32_t, passSteps> ownOffsets;
  alignas(memoryAlignment) std::byte packed[blockRows * passSteps * stepRows * 2];
  alignas(memoryAlignment) uint8_t gathered[blockRows * passSteps * stepRows];
};

/// Finds the rows of a matmul's first operand as kernels read them: in place, gathered or widened.
class RowFinder {
public:
  RowFinder(const ByteProduct &product, const uint8_t *a, Kind kind);

  /// Whether kernels have to move the rows' bytes by 128: dot products multiply signed by unsigned
  /// bytes, and both operands are alike.
  bool flips() const { return isFlipped; }
  /// The difference between a sum and a kernel's: 128 times the column's sum, of either sign.
  uint32_t correction(uint32_t columnSum) const;

  /// The rows [row, rowEnd) of a matrix of the batch in some steps of the sum.
  void find(int64_t matrix, int64_t row, int64_t rowEnd, int64_t step, int64_t steps,
            RowBlock &block) const;

private:
  void readPatches(int64_t row, int64_t rows, int64_t step, int64_t steps, RowBlock &block) const;
  /// Copies rows of `depth` bytes, `lda` apart or each across them, in the kernels' order.
  void pack(const uint8_t *first, int64_t lda, bool isTransposed, int64_t depth, int64_t rows,
            int64_t steps, RowBlock &block) const;

  const ByteProduct &product;
  const Gemm &gemm;
  const uint8_t *a;
  Kind kind;
  bool isFlipped;
  Runs runs;
  std::optional<PatchGatherer> patches;
  std::vector<int32_t> stepOffsets; // of patches that are read in place; else none
  const uint8_t *lastStart;         // a row that starts later may be read beyond the images
};

} // namespace headrace::bytes
