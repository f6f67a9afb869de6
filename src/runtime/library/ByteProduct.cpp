#include "runtime/library/ByteProduct.h"

#include "runtime/library/ByteRows.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace headrace {

using namespace bytes;

namespace {

int64_t panelsOf(int64_t n) { return dividedUp(n, panelColumns); }
/// The sums of the columns lie before the steps.
int64_t panelBytes(int64_t steps) { return (steps + 1) * stepBytes; }

/// Interleaves four rows of some columns, and adds them to the columns' sums.
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

/// Packs all steps of one column that is contiguous in memory; returns its sum.
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
void packPanelOf(const ByteProduct &product, const uint8_t *b, int64_t panel, uint8_t *to) {
  static constexpr std::array<uint8_t, panelColumns> zeros{};
  const Gemm &g = product.gemm;
  const Runs runs = runsOf(product);
  int64_t first = panel * panelColumns, columns = std::min(panelColumns, g.n - first);
  std::array<uint32_t, panelColumns> sums{};
  uint8_t *out = to + stepBytes;
  if (columns < panelColumns || (g.transB && g.k % stepRows != 0))
    std::memset(out, 0, static_cast<size_t>(runs.steps() * stepBytes));
  if (g.transB) {
    for (int64_t j = 0; j < columns; ++j)
      sums[static_cast<size_t>(j)] =
          packColumn<Number>(b + (first + j) * g.ldb, g.k, out + j * stepRows);
  } else {
    for (int64_t s = 0; s < runs.steps(); ++s) {
      std::array<const uint8_t *, stepRows> rows;
      int64_t run = s * stepRows / runs.length(), begin = s * stepRows % runs.length();
      for (int64_t i = 0; i < stepRows; ++i)
        rows[static_cast<size_t>(i)] = begin + i < runs.bytes
                                           ? b + (run * runs.bytes + begin + i) * g.ldb + first
                                           : zeros.data();
      if (columns == panelColumns)
        packStep<Number>(rows, panelColumns, out + s * stepBytes, sums.data());
      else
        packStep<Number>(rows, columns, out + s * stepBytes, sums.data());
    }
  }
  std::memcpy(to, sums.data(), sizeof(sums));
}

void packPanel(const ByteProduct &product, const uint8_t *b, int64_t panel, uint8_t *to) {
  (product.unsignedB ? packPanelOf<uint8_t> : packPanelOf<int8_t>)(product, b, panel, to);
}

/// Where sums that become bytes go.
struct Finish {
  const Int8EpilogueWriter &finisher;
  const BytePlaces &places;
  const uint8_t *other;
  uint8_t *to;
};

class Multiplication {
public:
  /// The result is `c`, or what `finish` makes of it.
  Multiplication(const ByteProduct &product, const uint8_t *a, int32_t *c, const Finish *finish,
                 Kind kind)
      : product(product), gemm(product.gemm), c(c), finish(finish), kind(kind),
        finder(product, a, kind), all(runsOf(product).steps()) {
    // Blocks of rows, and if those are few, of panels. Integers add up to the same in any order.
    constexpr int64_t enough = 64, fewestPanels = 8;
    rowBlocks = dividedUp(gemm.m, blockRows);
    blockPanels = panelsOf(gemm.n);
    while (gemm.batch * rowBlocks * columnBlocks() < enough && blockPanels >= 2 * fewestPanels)
      blockPanels = roundedUp(blockPanels / 2, maxPanels);
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
    RowBlock block;
    int64_t rowEnd = std::min(row + blockRows, gemm.m);
    int64_t panelEnd = std::min(panel + blockPanels, panelsOf(gemm.n));
    Sums sums = sumsOf(matrix, row, panel, panelEnd);
    std::array<uint8_t *, blockRows> finished;
    if (finish)
      finish->places.findRows(row, rowEnd - row, gemm.n, finish->to, finished.data());
    // Sums over nothing are stored as well.
    for (int64_t step = 0; step == 0 || step < all; step += passSteps) {
      int64_t steps = std::min(passSteps, all - step);
      finder.find(matrix, row, rowEnd, step, steps, block);
      for (int64_t p = panel; p < panelEnd; p += maxPanels) {
        Panels group(*this, panels, p, std::min(maxPanels, panelEnd - p), step, steps);
        group.tile.offsets = block.offsets;
        group.tile.ldc =
            sums.isGroup && sums.apart > gemm.n ? group.count * panelColumns : sums.apart;
        int32_t *first = sums.isGroup ? sums.first : sums.first + (p - panel) * panelColumns;
        for (int64_t r = 0; r < rowEnd - row; r += maxRows) {
          int64_t count = std::min(maxRows, rowEnd - row - r);
          std::copy_n(block.rows.begin() + r, count, group.tile.rows.begin());
          group.tile.c = first + r * group.tile.ldc;
          group.kernelFor(*this, count)(group.tile);
        }
        if (finish && step + steps >= all)
          finishGroup(group, first, row, p * panelColumns, rowEnd - row, finished);
      }
    }
  }

  /// Where sums of a block are kept until they are complete: in the result, or if it is bytes,
  /// in memory of the thread's: those of some panels after others' if they are complete at once.
  struct Sums {
    int32_t *first;
    int64_t apart;
    bool isGroup = false;
  };

  Sums sumsOf(int64_t matrix, int64_t row, int64_t panel, int64_t panelEnd) const {
    if (!finish)
      return {c + matrix * gemm.strideC + row * gemm.ldc + panel * panelColumns, gemm.ldc};
    static thread_local std::vector<int32_t> own;
    bool isGroup = all <= passSteps;
    int64_t apart = gemm.n <= panelColumns
                        ? Int8EpilogueWriter::rowsApart(gemm.n)
                        : (isGroup ? maxPanels : panelEnd - panel) * panelColumns;
    auto needed = static_cast<size_t>(blockRows * apart + panelColumns);
    if (own.size() < needed)
      own.resize(needed);
    return {own.data(), apart, isGroup};
  }

  /// Operands and sizes that the tiles of some panels share in one pass.
  struct Panels {
    Panels(const Multiplication &of, const uint8_t *panels, int64_t panel, int64_t count,
           int64_t step, int64_t steps)
        : count(count) {
      int64_t stride = panelBytes(of.all);
      const uint8_t *first = panels + panel * stride;
      tile.b = first + (step + 1) * stepBytes;
      tile.panelStride = stride;
      tile.steps = steps;
      columns = std::min(panelColumns, of.gemm.n - (panel + count - 1) * panelColumns);
      tile.columns = columns;
      // Sums of the thread's own may have neighbours overwritten: rows come in order, and those of
      // columns that are not there are 0.
      if (of.finish && of.kind == Kind::DotProducts)
        tile.columns = columns <= panelColumns / 2 && count == 1 ? panelColumns / 2 : panelColumns;
      if (step > 0)
        return;
      tile.start = starts.data();
      for (int64_t p = 0; p < count; ++p) {
        std::array<uint32_t, panelColumns> sums, addends{};
        std::memcpy(sums.data(), first + p * stride, sizeof(sums));
        if (of.finish)
          std::memcpy(addends.data(), of.finish->finisher.addends((panel + p) * panelColumns),
                      sizeof(addends));
        for (size_t j = 0; j < sums.size(); ++j)
          starts[static_cast<size_t>(p * panelColumns) + j] =
              static_cast<int32_t>(of.finder.correction(sums[j]) + addends[j]);
      }
    }

    Kernel kernelFor(const Multiplication &of, int64_t rows) {
      if (rows != kernelRows) {
        kernelRows = rows;
        kernel = bytes::kernelFor(of.kind, of.product.unsignedB, of.finder.flips(), rows, count,
                                  tile.columns);
      }
      return kernel;
    }

    int64_t count, columns; // panels, and columns of the last
    Tile tile{};
    std::array<int32_t, maxPanels * panelColumns> starts;
    Kernel kernel = nullptr;
    int64_t kernelRows = 0;
  };

  void finishGroup(const Panels &group, const int32_t *sums, int64_t row, int64_t column,
                   int64_t rows, const std::array<uint8_t *, blockRows> &finished) const {
    std::array<uint8_t *, blockRows> to;
    std::array<const uint8_t *, blockRows> others;
    for (int64_t r = 0; r < rows; ++r) {
      auto i = static_cast<size_t>(r);
      to[i] = finished[i] + column;
      others[i] = finish->other ? finish->other + (row + r) * gemm.n + column : nullptr;
    }
    int64_t columns = (group.count - 1) * panelColumns + group.columns;
    finish->finisher.finishAs(kind, sums, group.tile.ldc, rows, column, columns, others.data(),
                              to.data());
  }

  const ByteProduct &product;
  const Gemm &gemm;
  int32_t *c;
  const Finish *finish;
  Kind kind;
  RowFinder finder;
  int64_t all; // steps
  int64_t rowBlocks, blockPanels;
};

} // namespace

int64_t packedBytes(const ByteProduct &product) {
  return panelsOf(product.gemm.n) * panelBytes(runsOf(product).steps());
}

Tensor packedColumns(const ByteProduct &product, const uint8_t *b) {
  Tensor packed = Tensor::allocate(DType::I8, {packedBytes(product)});
  int64_t each = panelBytes(runsOf(product).steps());
  for (int64_t p = 0; p < panelsOf(product.gemm.n); ++p)
    packPanel(product, b, p, packed.as<uint8_t>() + p * each);
  return packed;
}

void multiplyBytes(const ByteProduct &product, const uint8_t *a, const uint8_t *b, int32_t *c,
                   bool packed, ThreadPool &pool, Kind kind) {
  const Gemm &g = product.gemm;
  if (g.batch == 0 || g.m == 0 || g.n == 0)
    return;
  Multiplication multiplication(product, a, c, nullptr, kind);
  if (packed)
    return multiplication.run([&](int64_t) { return b; }, pool);
  int64_t matrices = g.strideB == 0 ? 1 : g.batch, each = packedBytes(product);
  AlignedMemory panels = allocateAligned(static_cast<size_t>(matrices * each), "an int8 matmul");
  auto *memory = reinterpret_cast<uint8_t *>(panels.get());
  int64_t perMatrix = panelsOf(g.n);
  pool.parallelFor(matrices * perMatrix, 1 + (1 << 16) / (panelColumns * g.k + 1),
                   [&](int64_t begin, int64_t end, int) {
                     for (int64_t i = begin; i < end; ++i)
                       packPanel(product, b + i / perMatrix * g.strideB, i % perMatrix,
                                 memory + i * (each / perMatrix));
                   });
  multiplication.run([&](int64_t i) { return memory + (matrices == 1 ? 0 : i * each); }, pool);
}

void multiplyToBytes(const ByteProduct &product, const Int8EpilogueWriter &finisher,
                     const BytePlaces &places, const uint8_t *a, const uint8_t *b,
                     const uint8_t *other, uint8_t *to, ThreadPool &pool, Kind kind) {
  const Gemm &g = product.gemm;
  if (g.m == 0 || g.n == 0)
    return;
  places.writeBorders(g.m, g.n, to, pool);
  Finish finish{finisher, places, other, to};
  Multiplication(product, a, nullptr, &finish, kind).run([&](int64_t) { return b; }, pool);
}

} // namespace headrace
