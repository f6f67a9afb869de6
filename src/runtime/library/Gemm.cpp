#include "runtime/library/Gemm.h"

#include "runtime/library/NarrowProduct.h"
#include "runtime/library/OpenBlas.h"
#include "runtime/system/AlignedMemory.h"
#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <array>
#include <climits>

namespace headrace {

namespace {

using namespace blas;

// The rows of an operand and what is between them, in elements.
struct Rows {
  int64_t count, columns, leading, stride;
};

// A matrix of at most one row or no column has no use for its leading dimension, but BLAS checks
// it.
int64_t usedLeading(const Rows &rows) {
  return rows.count <= 1 || rows.columns == 0 ? std::max({rows.leading, rows.columns, int64_t{1}})
                                              : rows.leading;
}

Gemm readGemm(std::span<const int64_t> p) {
  return {p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8], p[9], p[10], p[11]};
}

constexpr size_t plainParameters = 12, cutParameters = 15;
Gemm readCutGemm(std::span<const int64_t> p) {
  Gemm gemm = readGemm(p);
  if (p.size() == cutParameters) {
    gemm.rowBlock = p[12];
    gemm.columnBlock = p[13];
    gemm.depthBlock = p[14];
  }
  return gemm;
}

std::array<Rows, 3> operandsOf(const Gemm &g) {
  return {Rows{g.transA ? g.k : g.m, g.transA ? g.m : g.k, g.lda, g.strideA},
          Rows{g.transB ? g.n : g.k, g.transB ? g.k : g.n, g.ldb, g.strideB},
          Rows{g.m, g.n, g.ldc, g.strideC}};
}

/// With leading dimensions as BLAS wants them.
Gemm checked(Gemm g, const std::string &what) {
  std::array<Rows, 3> operands = operandsOf(g);
  g.lda = usedLeading(operands[0]);
  g.ldb = usedLeading(operands[1]);
  g.ldc = usedLeading(operands[2]);
  for (int64_t size : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc})
    if (size > INT_MAX)
      throw Error(ErrorKind::Unsupported,
                  what + ": OpenBLAS expects sizes up to 2^31 - 1, got " + std::to_string(size));
  return g;
}

// How the work is cut: the result into blocks, and if those are few, what is summed over into
// parts that are accumulated in order. It follows from the sizes alone: the number of threads must
// not change which sums are formed how.
class Pieces {
public:
  Pieces(const Gemm &gemm, bool symmetric)
      : gemm(gemm), rowBlock(gemm.rowBlock ? gemm.rowBlock : gemm.m),
        columnBlock(gemm.columnBlock ? gemm.columnBlock : gemm.n), depthBlock(gemm.k) {
    if (symmetric)
      rowBlock = columnBlock = std::min(rowBlock, columnBlock);
    // Blocks below the limits cost more in packing than they gain in balance; large products
    // are cut further because they are for many cores.
    constexpr int64_t limit = 128, vectorLimit = 512;
    auto enough = static_cast<int64_t>(std::clamp(operations() / 140e6, 32.0, 256.0));
    int64_t rowLimit = gemm.n == 1 ? vectorLimit : limit;
    int64_t columnLimit = gemm.m == 1 ? vectorLimit : limit;
    while (gemm.batch < enough && count() < enough) {
      bool canRows = rowBlock >= 2 * rowLimit && !gemm.rowBlock,
           canColumns = columnBlock >= 2 * columnLimit && !gemm.columnBlock;
      if (!canRows && !canColumns)
        break;
      bool rows = canRows && (!canColumns || rowBlock >= columnBlock);
      int64_t &block = rows ? rowBlock : columnBlock;
      block = (block / 2 + 31) / 32 * 32; // whole register tiles
      if (symmetric)
        rowBlock = columnBlock = block;
    }
    // A part is as deep as pays for adding it up, and all of them together stay small.
    constexpr int64_t depthLimit = 2048, maxCells = 1 << 20;
    int64_t cells = std::max<int64_t>(gemm.batch * gemm.m * gemm.n, 1);
    int64_t parts =
        std::min({enough / std::max<int64_t>(count(), 1), gemm.k / depthLimit, maxCells / cells});
    if (gemm.depthBlock)
      depthBlock = std::max<int64_t>(std::min(gemm.depthBlock, gemm.k), 1);
    else if (parts > 1)
      depthBlock = dividedUp(gemm.k, parts);
  }

  int64_t count() const { return gemm.batch * rowBlocks() * columnBlocks() * parts(); }
  int64_t parts() const { return depthBlock >= gemm.k ? 1 : blocks(gemm.k, depthBlock); }

  double operationsEach() const { return operations() / static_cast<double>(count()); }

  struct Piece {
    int64_t part, batch, row, column, depth, rows, columns, deep;
  };
  Piece operator[](int64_t index) const {
    int64_t column = index % columnBlocks() * columnBlock;
    index /= columnBlocks();
    int64_t row = index % rowBlocks() * rowBlock;
    index /= rowBlocks();
    int64_t batch = index % gemm.batch, part = index / gemm.batch, depth = part * depthBlock;
    return {part,
            batch,
            row,
            column,
            depth,
            std::min(rowBlock, gemm.m - row),
            std::min(columnBlock, gemm.n - column),
            std::min(depthBlock, gemm.k - depth)};
  }

private:
  double operations() const {
    double result = 2;
    for (int64_t size : {gemm.batch, gemm.m, gemm.n, gemm.k})
      result *= static_cast<double>(size);
    return result;
  }

  static int64_t blocks(int64_t size, int64_t block) { return dividedUp(size, block); }
  int64_t rowBlocks() const { return blocks(gemm.m, rowBlock); }
  int64_t columnBlocks() const { return blocks(gemm.n, columnBlock); }

  const Gemm &gemm;
  int64_t rowBlock, columnBlock, depthBlock;
};

int narrow(int64_t size) { return static_cast<int>(size); }
Transpose orientation(int64_t isTransposed) { return isTransposed ? Transposed : Plain; }

template <class T> class Product {
public:
  Product(const Gemm &gemm, const T *a, const T *b, T *c)
      : gemm(gemm), a(a), b(b), c(c),
        symmetric(a == b && gemm.m == gemm.n && gemm.m > 1 && !gemm.transA != !gemm.transB &&
                  gemm.lda == gemm.ldb && gemm.strideA == gemm.strideB),
        pieces(gemm, symmetric) {}

  void run(ThreadPool &pool) {
    int64_t cells = gemm.batch * gemm.m * gemm.n;
    if (pieces.parts() > 1)
      scratch = allocateAligned((pieces.parts() - 1) * cells * sizeof(T), "a matmul");
    // Below about this many operations a piece is over before another thread has begun.
    constexpr double worthSharing = 1e5;
    auto grain = static_cast<int64_t>(worthSharing / std::max(pieces.operationsEach(), 1.0)) + 1;
    pool.parallelFor(pieces.count(), grain, [&](int64_t begin, int64_t end, int) {
      for (int64_t i = begin; i < end; ++i)
        compute(pieces[i]);
    });
    if (pieces.parts() > 1 || symmetric)
      pool.parallelFor(gemm.batch * gemm.m, 1 + 32768 / (gemm.n * pieces.parts()),
                       [&](int64_t begin, int64_t end, int) {
                         for (int64_t i = begin; i < end; ++i)
                           finishRow(i / gemm.m, i % gemm.m);
                       });
  }

private:
  struct Place {
    T *at;
    int64_t leading;
  };
  /// Where a part's cell stands: the first part in the result itself, the others without gaps.
  Place place(int64_t part, int64_t batch, int64_t row, int64_t column) const {
    if (part == 0)
      return {c + batch * gemm.strideC + row * gemm.ldc + column, gemm.ldc};
    T *parts = reinterpret_cast<T *>(scratch.get());
    return {parts + (((part - 1) * gemm.batch + batch) * gemm.m + row) * gemm.n + column, gemm.n};
  }

  void compute(const Pieces::Piece &piece) const {
    if (symmetric && piece.row > piece.column)
      return;
    const T *left =
        a + piece.batch * gemm.strideA +
        (gemm.transA ? piece.row + piece.depth * gemm.lda : piece.row * gemm.lda + piece.depth);
    const T *right = b + piece.batch * gemm.strideB +
                     (gemm.transB ? piece.column * gemm.ldb + piece.depth
                                  : piece.column + piece.depth * gemm.ldb);
    auto [out, leading] = place(piece.part, piece.batch, piece.row, piece.column);
    int rows = narrow(piece.rows), columns = narrow(piece.columns), k = narrow(piece.deep);
    int lda = narrow(gemm.lda), ldb = narrow(gemm.ldb), ldc = narrow(leading);
    Transpose transA = orientation(gemm.transA), transB = orientation(gemm.transB);
    const Blas<T> &blas = openBlas()->of<T>();
    // With a vector, gemm would spend its time packing. gemv may multiply what is there by 0, so
    // that stale NaN could survive: it is cleared first. So is everything if there is no sum.
    if (k == 0 || gemm.n == 1 || gemm.m == 1)
      for (int64_t row = 0; row < piece.rows; ++row)
        std::fill_n(out + row * leading, piece.columns, T(0));
    if (k == 0)
      return;
    if (gemm.n == 1) {
      int step = gemm.transB ? 1 : ldb;
      blas.gemv(RowMajor, transA, gemm.transA ? k : rows, gemm.transA ? rows : k, 1, left, lda,
                right, step, 0, out, ldc);
    } else if (gemm.m == 1) {
      int step = gemm.transA ? lda : 1;
      blas.gemv(RowMajor, gemm.transB ? Plain : Transposed, gemm.transB ? columns : k,
                gemm.transB ? k : columns, 1, right, ldb, left, step, 0, out, 1);
    } else if (symmetric && piece.row == piece.column && gemm.transA &&
               NarrowProduct::applies(k, rows)) {
      multiply(NarrowProduct{k, rows, lda, ldc}, left, out);
    } else if (symmetric && piece.row == piece.column) {
      blas.syrk(RowMajor, Upper, transA, rows, k, 1, left, lda, 0, out, ldc);
    } else {
      blas.gemm(RowMajor, transA, transB, rows, columns, k, 1, left, lda, right, ldb, 0, out, ldc);
    }
  }

  /// Accumulates the parts of one row; of a symmetric result, those above the diagonal, which are
  /// then copied below it.
  void finishRow(int64_t batch, int64_t row) const {
    int64_t first = symmetric ? row : 0;
    T *sum = place(0, batch, row, 0).at;
    for (int64_t part = 1; part < pieces.parts(); ++part) {
      const T *other = place(part, batch, row, 0).at;
      for (int64_t j = first; j < gemm.n; ++j)
        sum[j] += other[j];
    }
    if (symmetric)
      for (int64_t j = row + 1; j < gemm.n; ++j)
        *place(0, batch, j, row).at = sum[j];
  }

  const Gemm &gemm;
  const T *a, *b;
  T *c;
  bool symmetric;
  Pieces pieces;
  AlignedMemory scratch;
};

} // namespace

template <class T>
void multiply(const Gemm &given, const T *a, const T *b, T *c, ThreadPool &pool,
              const std::string &what) {
  Gemm gemm = checked(given, what);
  if (gemm.batch > 0 && gemm.m > 0 && gemm.n > 0)
    Product<T>(gemm, a, b, c).run(pool);
}

template <class T>
void runGemmStep(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                 ThreadPool &pool) {
  if (step.operands.size() != 3 ||
      (parameters.size() != plainParameters && parameters.size() != cutParameters))
    throw InternalError("step '" + step.name + "': gemm takes 3 operands and 12 or 15 parameters");
  multiply(readCutGemm(parameters), static_cast<const T *>(buffers[0]),
           static_cast<const T *>(buffers[1]), static_cast<T *>(buffers[2]), pool,
           "step '" + step.name + "'");
}

std::string refusalOfBlocks(const Gemm &gemm) {
  // Smaller blocks are all packing, and further parts of sums take memory.
  constexpr int64_t least = 32, maxParts = 64, maxCells = 1 << 24;
  for (auto [name, block] : {std::pair("rows", gemm.rowBlock), {"columns", gemm.columnBlock}})
    if (block != 0 && block < least)
      return std::string(name) + ": expected 0, or at least " + std::to_string(least);
  if (gemm.depthBlock < 0)
    return "depth: expected 0, or at least 1";
  int64_t parts = gemm.depthBlock ? dividedUp(gemm.k, gemm.depthBlock) : 1;
  __int128 cells = __int128{gemm.batch} * gemm.m * gemm.n;
  if (parts > maxParts || (parts > 1 && cells * parts > maxCells))
    return "depth: expected 0, or at most " + std::to_string(maxParts) + " parts of " +
           std::to_string(gemm.k) + " that take little memory";
  return "";
}

std::string gemmFault(std::span<const int64_t> parameters, std::span<const int64_t> operandBytes,
                      std::array<int64_t, 3> elementBytes) {
  Gemm gemm = readGemm(parameters);
  for (int64_t size : {gemm.batch, gemm.m, gemm.n, gemm.k})
    if (size < 0)
      return "multiplies matrices of size " + std::to_string(size);
  std::array<Rows, 3> operands = operandsOf(gemm);
  for (size_t i = 0; i < operands.size(); ++i) {
    const Rows &rows = operands[i];
    if (usedLeading(rows) < std::max<int64_t>(rows.columns, 1))
      return "has rows of " + std::to_string(rows.columns) + " elements that are " +
             std::to_string(rows.leading) + " apart";
    if (gemm.batch == 0 || rows.count == 0 || rows.columns == 0)
      continue;
    __int128 elements = __int128{gemm.batch - 1} * rows.stride +
                        __int128{rows.count - 1} * rows.leading + rows.columns;
    if (rows.stride < 0 || elements > operandBytes[i] / elementBytes[i])
      return "leaves its operand " + std::to_string(i) + " of " + std::to_string(operandBytes[i]) +
             " bytes";
  }
  return "";
}

template <class T>
std::string gemmStepFault(std::span<const int64_t> parameters,
                          std::span<const int64_t> operandBytes) {
  if (std::string reason = refusalOfBlocks(readCutGemm(parameters)); !reason.empty())
    return "is cut into blocks that it cannot have: " + reason;
  return gemmFault(parameters, operandBytes, {sizeof(T), sizeof(T), sizeof(T)});
}

#define HEADRACE_GEMM(T)                                                                           \
  template void multiply<T>(const Gemm &, const T *, const T *, T *, ThreadPool &,                 \
                            const std::string &);                                                  \
  template void runGemmStep<T>(const Step &, void *const *, std::span<const int64_t>,              \
                               ThreadPool &);                                                      \
  template std::string gemmStepFault<T>(std::span<const int64_t>, std::span<const int64_t>);
HEADRACE_GEMM(float)
HEADRACE_GEMM(double)
#undef HEADRACE_GEMM

} // namespace headrace
