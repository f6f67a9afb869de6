#include "runtime/library/ByteRows.h"

#include "runtime/system/Rounding.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace headrace::bytes {

namespace {

/// The bytes of some steps of one row, each step's four `apart` numbers after those before.
template <class T, class Convert>
void packRow(const uint8_t *from, int64_t stride, int64_t bytes, int64_t steps, int64_t apart,
             T *to, Convert convert) {
  int64_t whole = std::min(bytes / stepRows, steps);
  for (int64_t s = 0; s < whole; ++s, from += stepRows * stride, to += apart)
    for (int64_t i = 0; i < stepRows; ++i)
      to[i] = convert(from[i * stride]);
  // Beyond the sum the second operand is 0, and any number will do.
  if (whole < steps)
    for (int64_t i = 0; i < stepRows; ++i)
      to[i] = whole * stepRows + i < bytes ? convert(from[i * stride]) : T{0};
}

/// Steps that follow each other.
constexpr std::array<int32_t, passSteps> consecutive = [] {
  std::array<int32_t, passSteps> offsets{};
  for (size_t s = 0; s < offsets.size(); ++s)
    offsets[s] = static_cast<int32_t>(s * stepRows);
  return offsets;
}();

} // namespace

int64_t Runs::length() const { return roundedUp(bytes, stepRows); }

Runs runsOf(const ByteProduct &product) {
  if (product.padsRuns)
    return {product.patches->runs(), product.patches->runBytes()};
  return {1, product.gemm.k};
}

RowFinder::RowFinder(const ByteProduct &product, const uint8_t *a, Kind kind)
    : product(product), gemm(product.gemm), a(a), kind(kind),
      isFlipped(kind == Kind::DotProducts && product.unsignedA == product.unsignedB),
      runs(runsOf(product)), lastStart(nullptr) {
  if (!product.patches)
    return;
  const BytePatches &of = *product.patches;
  int64_t own = of.runBytes();
  patches.emplace(of, a, product.padsRuns ? runs.length() : own);
  bool areWholeSteps = product.padsRuns || own % stepRows == 0;
  if (widensFirst(kind) || !areWholeSteps || patches->offsets().empty() ||
      patches->offsets().back() + own > std::numeric_limits<int32_t>::max() - stepRows)
    return;
  for (int64_t offset : patches->offsets())
    for (int64_t i = 0; i < own; i += stepRows)
      stepOffsets.push_back(static_cast<int32_t>(offset + i));
  int64_t positions = of.out[0] * of.out[1] * of.out[2];
  int64_t images = positions == 0 ? 0 : gemm.m / positions;
  if (!stepOffsets.empty())
    lastStart = a + images * of.imageBytes() - stepOffsets.back() - stepRows;
}

uint32_t RowFinder::correction(uint32_t columnSum) const {
  if (!isFlipped)
    return 0;
  return product.unsignedA ? columnSum * 128 : uint32_t{0} - columnSum * 128;
}

void RowFinder::find(int64_t matrix, int64_t row, int64_t rowEnd, int64_t step, int64_t steps,
                     RowBlock &block) const {
  int64_t rows = rowEnd - row;
  if (patches)
    return readPatches(row, rows, step, steps, block);
  const uint8_t *first = a + matrix * gemm.strideA;
  first += gemm.transA ? step * stepRows * gemm.lda + row : row * gemm.lda + step * stepRows;
  if (!widensFirst(kind) && !gemm.transA && gemm.k % stepRows == 0) {
    for (int64_t r = 0; r < rows; ++r)
      block.rows[static_cast<size_t>(r)] = first + r * gemm.lda;
    block.offsets = consecutive.data();
    return;
  }
  pack(first, gemm.lda, gemm.transA, gemm.k - step * stepRows, rows, steps, block);
}

void RowFinder::readPatches(int64_t row, int64_t rows, int64_t step, int64_t steps,
                            RowBlock &block) const {
  int64_t begin = step * stepRows, width = steps * stepRows;
  int64_t depth = product.padsRuns ? runs.steps() * stepRows : gemm.k;
  int64_t used = std::min(width, depth - begin);
  if (!stepOffsets.empty()) {
    patches->findRows(row, rows, block.rows.data());
    block.offsets = stepOffsets.data() + step;
    // The last step of a run may reach beyond it, and of the last row beyond the images.
    if (block.rows[static_cast<size_t>(rows - 1)] <= lastStart)
      return;
  }
  patches->gather(row, rows, begin, begin + used, block.gathered, width);
  for (int64_t r = 0; r < rows && used < width; ++r)
    std::memset(block.gathered + r * width + used, 0, static_cast<size_t>(width - used));
  if (widensFirst(kind))
    return pack(block.gathered, width, false, width, rows, steps, block);
  for (int64_t r = 0; r < rows; ++r)
    block.rows[static_cast<size_t>(r)] = block.gathered + r * width;
  block.offsets = consecutive.data();
}

void RowFinder::pack(const uint8_t *first, int64_t lda, bool isTransposed, int64_t depth,
                     int64_t rows, int64_t steps, RowBlock &block) const {
  int64_t number = widensFirst(kind) ? 2 : 1, apart = maxRows * stepRows;
  for (int64_t s = 0; s < steps; ++s)
    block.ownOffsets[static_cast<size_t>(s)] = static_cast<int32_t>(s * apart * number);
  block.offsets = block.ownOffsets.data();
  for (int64_t r = 0; r < rows; ++r) {
    const uint8_t *from = first + r * (isTransposed ? 1 : lda);
    int64_t stride = isTransposed ? lda : 1;
    std::byte *to =
        block.packed + (r / maxRows * steps * maxRows + r % maxRows) * stepRows * number;
    block.rows[static_cast<size_t>(r)] = reinterpret_cast<const uint8_t *>(to);
    auto *wide = reinterpret_cast<int16_t *>(to);
    if (!widensFirst(kind)) {
      packRow(from, stride, depth, steps, apart, reinterpret_cast<uint8_t *>(to),
              [](uint8_t byte) { return byte; });
      continue;
    }
    int64_t whole = 0;
    if (stride == 1 && kind != Kind::Plain) {
      whole = std::min(depth / stepRows, steps);
      widenRow(from, whole, apart, product.unsignedA, wide);
    }
    if (whole == steps)
      continue;
    from += whole * stepRows;
    wide += whole * apart;
    if (product.unsignedA)
      packRow(from, stride, depth - whole * stepRows, steps - whole, apart, wide,
              [](uint8_t byte) -> int16_t { return byte; });
    else
      packRow(from, stride, depth - whole * stepRows, steps - whole, apart, wide,
              [](uint8_t byte) -> int16_t { return static_cast<int8_t>(byte); });
  }
}

} // namespace headrace::bytes
