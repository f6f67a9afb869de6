#include "runtime/library/ByteProduct.h"

#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace headrace {

using namespace bytes;

namespace {

// Steps of one pass over the sum: 64 columns of it are 24 KiB, which stay in the first cache with
// a tile of rows.
constexpr int64_t passSteps = 96;
// Rows that a thread packs at once: a pass of them stays in the second cache.
constexpr int64_t blockRows = 16 * mostRows;

int64_t stepsOf(int64_t k) { return dividedUp(k, stepRows); }
int64_t panelsOf(int64_t n) { return dividedUp(n, panelColumns); }
int64_t panelBytes(int64_t k) { return (stepsOf(k) + 1) * stepBytes; }

/// Four rows of some columns beside each other, and added to the columns' sums.
template <class Number>
void packStep(const std::array<const uint8_t *, stepRows> &rows, int64_t columns, uint8_t *out,
              uint32_t *sums) {
  for (int64_t j = 0; j < columns; ++j)
    for (int64_t i = 0; i < stepRows; ++i)
      out[j * stepRows + i] = rows[static_cast<size_t>(i)][j];
  for (const uint8_t *row : rows)
    for (int64_t j = 0; j < columns; ++j)
      sums[j] += static_cast<uint32_t>(static_cast<Number>(row[j]));
}

/// The same of one column that lies along memory, for all steps.
template <class Number> uint32_t packColumn(const uint8_t *column, int64_t k, uint8_t *out) {
  uint32_t sum = 0;
  for (int64_t i = 0; i < k; ++i)
    sum += static_cast<uint32_t>(static_cast<Number>(column[i]));
  int64_t whole = k / stepRows;
  for (int64_t s = 0; s < whole; ++s)
    std::memcpy(out + s * stepBytes, column + s * stepRows, stepRows);
  std::memcpy(out + whole * stepBytes, column + whole * stepRows,
              static_cast<size_t>(k - whole * stepRows));
  return sum;
}

/// Packs 16 columns of one matrix, or the last few.
template <class Number>
void packPanelOf(const Gemm &g, const uint8_t *b, int64_t panel, uint8_t *to) {
  static constexpr std::array<uint8_t, panelColumns> zeros{};
  int64_t first = panel * panelColumns, columns = std::min(panelColumns, g.n - first);
  std::array<uint32_t, panelColumns> sums{};
  uint8_t *out = to + stepBytes;
  if (columns < panelColumns || (g.transB && g.k % stepRows != 0))
    std::memset(out, 0, static_cast<size_t>(stepsOf(g.k) * stepBytes));
  if (g.transB) {
    for (int64_t j = 0; j < columns; ++j)
      sums[static_cast<size_t>(j)] =
          packColumn<Number>(b + (first + j) * g.ldb, g.k, out + j * stepRows);
  } else {
    for (int64_t s = 0; s < stepsOf(g.k); ++s) {
      std::array<const uint8_t *, stepRows> rows;
      for (int64_t i = 0; i < stepRows; ++i)
        rows[static_cast<size_t>(i)] =
            s * stepRows + i < g.k ? b + (s * stepRows + i) * g.ldb + first : zeros.data();
      if (columns == panelColumns)
        packStep<Number>(rows, panelColumns, out + s * stepBytes, sums.data());
      else
        packStep<Number>(rows, columns, out + s * stepBytes, sums.data());
    }
  }
  std::memcpy(to, sums.data(), sizeof(sums));
}

void packPanel(const ByteProduct &product, const uint8_t *b, int64_t panel, uint8_t *to) {
  (product.unsignedB ? packPanelOf<uint8_t> : packPanelOf<int8_t>)(product.gemm, b, panel, to);
}

/// Rows of A as kernels read them: [step][row][4] for each tile of rows.
class RowPacker {
public:
  RowPacker(const ByteProduct &product, Kind kind)
      : gemm(product.gemm), kind(kind), isUnsigned(product.unsignedA),
        // Dot products multiply signed by unsigned bytes: where both operands are alike, rows are
        // moved by 128.
        flip(kind == Kind::DotProducts && product.unsignedA == product.unsignedB ? 0x80 : 0) {}

  int64_t elementBytes() const { return widensFirst(kind) ? 2 : 1; }

  /// Whether kernels can read the rows as they lie: bytes that need no change, in whole steps.
  bool readsInPlace() const { return readsRows() && !gemm.transA && gemm.k % stepRows == 0; }
  /// The same, of rows that are filled up to whole steps.
  bool readsRows() const { return !widensFirst(kind) && flip == 0; }

  void pack(const uint8_t *a, int64_t row, int64_t rows, int64_t step, int64_t steps,
            void *to) const {
    if (!widensFirst(kind))
      packAs(a, row, rows, step, steps, static_cast<uint8_t *>(to),
             [flip = flip](uint8_t byte) { return static_cast<uint8_t>(byte ^ flip); });
    else if (isUnsigned)
      packAs(a, row, rows, step, steps, static_cast<int16_t *>(to),
             [](uint8_t byte) -> int16_t { return byte; });
    else
      packAs(a, row, rows, step, steps, static_cast<int16_t *>(to),
             [](uint8_t byte) -> int16_t { return static_cast<int8_t>(byte); });
  }

  /// What a kernel's sums lack of each column's: 128 times the column's sum, one way or the other.
  uint32_t correction(uint32_t columnSum) const {
    if (flip == 0)
      return 0;
    return isUnsigned ? columnSum * 128 : uint32_t{0} - columnSum * 128;
  }

private:
  template <class T, class Convert>
  void packFour(const uint8_t *from, T *to, Convert convert) const {
    if constexpr (sizeof(T) == 1) {
      uint32_t four;
      std::memcpy(&four, from, sizeof(four));
      four ^= flip * 0x01010101u;
      std::memcpy(to, &four, sizeof(four));
    } else {
      for (int64_t i = 0; i < stepRows; ++i)
        to[i] = convert(from[i]);
    }
  }

  template <class T, class Convert>
  void packAs(const uint8_t *a, int64_t row, int64_t rows, int64_t step, int64_t steps, T *out,
              Convert convert) const {
    int64_t whole = std::clamp(gemm.k / stepRows - step, int64_t{0}, steps);
    for (int64_t r = 0; r < rows; ++r) {
      const uint8_t *from = gemm.transA ? a + step * stepRows * gemm.lda + row + r
                                        : a + (row + r) * gemm.lda + step * stepRows;
      int64_t apart = gemm.transA ? gemm.lda : 1;
      T *to = out + r * stepRows;
      if (sizeof(T) == 2 && apart == 1 && kind != Kind::Plain) {
        widenRow(from, whole, rows * stepRows, isUnsigned, reinterpret_cast<int16_t *>(to));
        from += whole * stepRows;
        to += whole * rows * stepRows;
      } else if (apart == 1)
        for (int64_t s = 0; s < whole; ++s, from += stepRows, to += rows * stepRows)
          packFour(from, to, convert);
      else
        for (int64_t s = 0; s < whole; ++s, from += stepRows * apart, to += rows * stepRows)
          for (int64_t i = 0; i < stepRows; ++i)
            to[i] = convert(from[i * apart]);
      // Beyond the sum B is 0, and any number will do.
      if (whole < steps)
        for (int64_t i = 0; i < stepRows; ++i)
          to[i] = (step + whole) * stepRows + i < gemm.k ? convert(from[i * apart]) : T{0};
    }
  }

  const Gemm &gemm;
  Kind kind;
  bool isUnsigned;
  uint8_t flip;
};

class Multiplication {
public:
  Multiplication(const ByteProduct &product, const uint8_t *a, int32_t *c, Kind kind)
      : product(product), gemm(product.gemm), a(a), c(c), kind(kind), packer(product, kind) {
    if (product.patches)
      patches.emplace(*product.patches, a);
    // Blocks of rows, and where those are few, of panels. Integers add up to the same in any order.
    constexpr int64_t enough = 64, fewestPanels = 8;
    rowBlocks = dividedUp(gemm.m, blockRows);
    blockPanels = panelsOf(gemm.n);
    while (gemm.batch * rowBlocks * columnBlocks() < enough && blockPanels >= 2 * fewestPanels)
      blockPanels = roundedUp(blockPanels / 2, mostPanels);
  }

  /// `panelsOfMatrix`: the packed panels of each matrix of the batch.
  void run(FunctionRef<const uint8_t *(int64_t)> panelsOfMatrix, ThreadPool &pool) const {
    int64_t perMatrix = rowBlocks * columnBlocks();
    double each = 2.0 * static_cast<double>(std::min(gemm.m, blockRows)) *
                  static_cast<double>(blockPanels * panelColumns) * static_cast<double>(gemm.k);
    constexpr double worthSharing = 4e5;
    auto grain = static_cast<int64_t>(worthSharing / std::max(each, 1.0)) + 1;
    pool.parallelFor(gemm.batch * perMatrix, grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t matrix = i / perMatrix, block = i % perMatrix;
        compute(matrix, block / columnBlocks() * blockRows, block % columnBlocks() * blockPanels,
                panelsOfMatrix(matrix));
      }
    });
  }

private:
  int64_t columnBlocks() const { return dividedUp(panelsOf(gemm.n), blockPanels); }

  void compute(int64_t matrix, int64_t row, int64_t panel, const uint8_t *panels) const {
    alignas(memoryAlignment) std::byte packed[blockRows * passSteps * stepRows * 2];
    alignas(memoryAlignment) uint8_t gathered[blockRows * passSteps * stepRows];
    int32_t *to = c + matrix * gemm.strideC;
    int64_t rowEnd = std::min(row + blockRows, gemm.m);
    int64_t panelEnd = std::min(panel + blockPanels, panelsOf(gemm.n)), all = stepsOf(gemm.k);
    // Sums over nothing are stored as well.
    for (int64_t step = 0; step == 0 || step < all; step += passSteps) {
      int64_t steps = std::min(passSteps, all - step);
      Rows rows = patches ? patchRows(row, rowEnd, step, steps, gathered, packed)
                          : matrixRows(a + matrix * gemm.strideA, row, rowEnd, step, steps, packed);
      for (int64_t p = panel; p < panelEnd; p += mostPanels) {
        Panels group(*this, panels, p, std::min(mostPanels, panelEnd - p), step, steps);
        for (int64_t r = row; r < rowEnd; r += mostRows) {
          int64_t count = std::min(mostRows, rowEnd - r);
          group.tile.a = rows.first + (r - row) * rows.apart;
          group.tile.rowBytes = rows.interleaved ? rows.interleaved : rows.apart;
          group.tile.stepBytes = rows.interleaved ? count * rows.interleaved : stepRows;
          group.tile.c = to + r * gemm.ldc + p * panelColumns;
          kernelFor(kind, product.unsignedB, count, group.count)(group.tile);
        }
      }
    }
  }

  /// Rows of one pass as kernels read them: as they lie, or step by step, with the numbers of a
  /// step of all rows of a tile beside each other.
  struct Rows {
    const std::byte *first;
    int64_t apart;           // bytes from one row to the next, in the mean of a tile
    int64_t interleaved = 0; // bytes of a row's part of a step
  };

  Rows matrixRows(const uint8_t *matrix, int64_t row, int64_t rowEnd, int64_t step, int64_t steps,
                  std::byte *packed) const {
    if (packer.readsInPlace())
      return {reinterpret_cast<const std::byte *>(matrix + row * gemm.lda + step * stepRows),
              gemm.lda};
    return packedRows(packer, matrix, row, rowEnd, step, steps, packed);
  }

  /// Patches are gathered as rows of whole steps.
  Rows patchRows(int64_t row, int64_t rowEnd, int64_t step, int64_t steps, uint8_t *gathered,
                 std::byte *packed) const {
    int64_t begin = step * stepRows, width = steps * stepRows;
    int64_t used = std::min(width, gemm.k - begin);
    patches->gather(row, rowEnd - row, begin, begin + used, gathered, width);
    for (int64_t r = 0; r < rowEnd - row && used < width; ++r)
      std::memset(gathered + r * width + used, 0, static_cast<size_t>(width - used));
    if (packer.readsRows())
      return {reinterpret_cast<const std::byte *>(gathered), width};
    ByteProduct some = product;
    some.gemm = Gemm::of(rowEnd - row, gemm.n, width, false, false);
    return packedRows(RowPacker(some, kind), gathered, 0, rowEnd - row, 0, steps, packed);
  }

  static Rows packedRows(const RowPacker &packer, const uint8_t *matrix, int64_t row,
                         int64_t rowEnd, int64_t step, int64_t steps, std::byte *packed) {
    int64_t four = stepRows * packer.elementBytes();
    for (int64_t r = row; r < rowEnd; r += mostRows)
      packer.pack(matrix, r, std::min(mostRows, rowEnd - r), step, steps,
                  packed + (r - row) * steps * four);
    return {packed, steps * four, four};
  }

  /// What the tiles of some panels have in common in one pass.
  struct Panels {
    Panels(const Multiplication &of, const uint8_t *panels, int64_t panel, int64_t count,
           int64_t step, int64_t steps)
        : count(count) {
      int64_t stride = panelBytes(of.gemm.k);
      const uint8_t *first = panels + panel * stride;
      tile.b = first + (step + 1) * stepBytes;
      tile.panelStride = stride;
      tile.steps = steps;
      tile.ldc = of.gemm.ldc;
      tile.columns = std::min(panelColumns, of.gemm.n - (panel + count - 1) * panelColumns);
      if (step > 0)
        return;
      tile.start = starts.data();
      for (int64_t p = 0; p < count; ++p) {
        std::array<uint32_t, panelColumns> sums;
        std::memcpy(sums.data(), first + p * stride, sizeof(sums));
        for (size_t j = 0; j < sums.size(); ++j)
          starts[static_cast<size_t>(p * panelColumns) + j] =
              static_cast<int32_t>(of.packer.correction(sums[j]));
      }
    }

    int64_t count;
    Tile tile{};
    std::array<int32_t, mostPanels * panelColumns> starts;
  };

  const ByteProduct &product;
  const Gemm &gemm;
  const uint8_t *a;
  int32_t *c;
  Kind kind;
  RowPacker packer;
  std::optional<PatchGatherer> patches;
  int64_t rowBlocks, blockPanels;
};

constexpr size_t productParameters = 14;

ByteProduct readProduct(std::span<const int64_t> p) {
  ByteProduct product{{p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]},
                      p[12] != 0,
                      p[13] != 0};
  if (p.size() > productParameters)
    product.patches = BytePatches::of(p.subspan(productParameters));
  return product;
}

} // namespace

int64_t packedBytes(int64_t n, int64_t k) { return panelsOf(n) * panelBytes(k); }

Tensor packedColumns(const ByteProduct &product, const uint8_t *b) {
  const Gemm &g = product.gemm;
  Tensor packed = Tensor::allocate(DType::I8, {packedBytes(g.n, g.k)});
  for (int64_t p = 0; p < panelsOf(g.n); ++p)
    packPanel(product, b, p, packed.as<uint8_t>() + p * panelBytes(g.k));
  return packed;
}

void multiplyBytes(const ByteProduct &product, const uint8_t *a, const uint8_t *b, int32_t *c,
                   bool packed, ThreadPool &pool, Kind kind) {
  const Gemm &g = product.gemm;
  if (g.batch == 0 || g.m == 0 || g.n == 0)
    return;
  Multiplication multiplication(product, a, c, kind);
  if (packed)
    return multiplication.run([&](int64_t) { return b; }, pool);
  int64_t matrices = g.strideB == 0 ? 1 : g.batch, each = packedBytes(g.n, g.k);
  AlignedMemory panels =
      allocateAligned(static_cast<size_t>(matrices * each), "a product of bytes");
  auto *memory = reinterpret_cast<uint8_t *>(panels.get());
  int64_t perMatrix = panelsOf(g.n);
  pool.parallelFor(matrices * perMatrix, 1 + (1 << 16) / (panelColumns * g.k + 1),
                   [&](int64_t begin, int64_t end, int) {
                     for (int64_t i = begin; i < end; ++i)
                       packPanel(product, b + i / perMatrix * g.strideB, i % perMatrix,
                                 memory + i * panelBytes(g.k));
                   });
  multiplication.run([&](int64_t i) { return memory + (matrices == 1 ? 0 : i * each); }, pool);
}

template <bool packed>
void runByteProductStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                        ThreadPool &pool) {
  bool isProduct = parameters.size() == productParameters ||
                   parameters.size() == productParameters + BytePatches::parameters;
  if (step.operands.size() != 3 || !isProduct)
    throw InternalError("step '" + step.name +
                        "': expected 3 operands and the parameters of a product of bytes");
  multiplyBytes(readProduct(parameters), static_cast<const uint8_t *>(buffers[0]),
                static_cast<const uint8_t *>(buffers[1]), static_cast<int32_t *>(buffers[2]),
                packed, pool);
}

template <bool packed>
std::string byteProductStepFault(std::span<const int64_t> parameters,
                                 std::span<const int64_t> operandBytes) {
  std::array<int64_t, 3> bytes = {operandBytes[0], operandBytes[1], operandBytes[2]};
  std::array<int64_t, 12> gemm;
  std::copy_n(parameters.begin(), gemm.size(), gemm.begin());
  if (parameters.size() > productParameters) {
    int64_t batch = gemm[0], m = gemm[1], k = gemm[3];
    if (batch != 1 || gemm[4] != 0)
      return "takes patches of an image as more than one matrix, or transposed";
    std::string fault =
        BytePatches::of(parameters.subspan(productParameters)).faultOf(m, k, operandBytes[0]);
    if (!fault.empty())
      return fault;
    // The matrix itself is not there; that it would fit is not the question.
    gemm[6] = 0;
    gemm[9] = k;
    if (__builtin_mul_overflow(m, k, &bytes[0]))
      return "has " + std::to_string(m) + " patches of " + std::to_string(k) + " bytes";
  }
  if constexpr (packed) {
    int64_t n = gemm[2], k = gemm[3];
    constexpr int64_t most = int64_t{1} << 40;
    if (n < 0 || k < 0 || n > most || k > most ||
        static_cast<__int128>(panelsOf(n)) * panelBytes(k) > operandBytes[1])
      return "leaves its operand 1 of " + std::to_string(operandBytes[1]) + " bytes";
    // B itself is not there; that it would fit is not the question.
    gemm[7] = 0;
    gemm[10] = gemm[5] ? k : n;
    if (__builtin_mul_overflow(n, k, &bytes[1]))
      return "multiplies matrices of " + std::to_string(n) + " columns and " + std::to_string(k) +
             " rows";
  }
  return gemmFault(gemm, bytes, {1, 1, 4});
}

template void runByteProductStep<false>(const Step &, void *const *, std::span<const int64_t>,
                                        ThreadPool &);
template void runByteProductStep<true>(const Step &, void *const *, std::span<const int64_t>,
                                       ThreadPool &);
template std::string byteProductStepFault<false>(std::span<const int64_t>,
                                                 std::span<const int64_t>);
template std::string byteProductStepFault<true>(std::span<const int64_t>, std::span<const int64_t>);

} // namespace headrace
