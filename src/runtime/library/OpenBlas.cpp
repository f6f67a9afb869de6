#include "runtime/library/OpenBlas.h"

#include "runtime/system/Error.h"

#include <algorithm>
#include <array>
#include <climits>
#include <dlfcn.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEADRACE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HEADRACE_SANITIZED 1
#endif
#endif

namespace headrace {

namespace {

// The part of cblas.h that is used; its enumerators are fixed by the standard.
constexpr int rowMajor = 101, plain = 111, transposed = 112;
using Sgemm = void (*)(int order, int transA, int transB, int m, int n, int k, float alpha,
                       const float *a, int lda, const float *b, int ldb, float beta, float *c,
                       int ldc);
using Sgemv = void (*)(int order, int trans, int rows, int columns, float alpha, const float *a,
                       int lda, const float *x, int incx, float beta, float *y, int incy);

struct OpenBlas {
  Sgemm sgemm = nullptr;
  Sgemv sgemv = nullptr;
};

OpenBlas load() {
  int flags = RTLD_NOW | RTLD_LOCAL;
#ifndef HEADRACE_SANITIZED
  // The process may hold another BLAS whose names OpenBLAS must not bind to; sanitizers, which
  // replace functions themselves, refuse the flag.
  flags |= RTLD_DEEPBIND;
#endif
  OpenBlas blas;
  void *library = ::dlopen("libopenblas.so.0", flags); // stays loaded
  if (!library)
    return blas;
  auto setThreads = reinterpret_cast<void (*)(int)>(::dlsym(library, "openblas_set_num_threads"));
  auto sgemm = reinterpret_cast<Sgemm>(::dlsym(library, "cblas_sgemm"));
  auto sgemv = reinterpret_cast<Sgemv>(::dlsym(library, "cblas_sgemv"));
  if (!setThreads || !sgemm || !sgemv)
    return blas;
  setThreads(1); // our pool has the threads
  return {sgemm, sgemv};
}

const OpenBlas &openBlas() {
  static const OpenBlas blas = load();
  return blas;
}

// One call's sizes, by name.
struct Gemm {
  int64_t batch, m, n, k, transA, transB, strideA, strideB, strideC, lda, ldb, ldc;
};

// The rows of an operand and what lies between them, in elements.
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

std::array<Rows, 3> operandsOf(const Gemm &g) {
  return {Rows{g.transA ? g.k : g.m, g.transA ? g.m : g.k, g.lda, g.strideA},
          Rows{g.transB ? g.n : g.k, g.transB ? g.k : g.n, g.ldb, g.strideB},
          Rows{g.m, g.n, g.ldc, g.strideC}};
}

Gemm readParameters(const Step &step, std::span<const int64_t> parameters) {
  if (step.operands.size() != 3 || parameters.size() != 12)
    throw InternalError("step '" + step.name + "': sgemm takes 3 operands and 12 parameters");
  Gemm g = readGemm(parameters);
  std::array<Rows, 3> operands = operandsOf(g);
  g.lda = usedLeading(operands[0]);
  g.ldb = usedLeading(operands[1]);
  g.ldc = usedLeading(operands[2]);
  for (int64_t size : {g.m, g.n, g.k, g.lda, g.ldb, g.ldc})
    if (size > INT_MAX)
      throw Error(ErrorKind::Unsupported, "step '" + step.name +
                                              "': OpenBLAS expects sizes up to 2^31 - 1, got " +
                                              std::to_string(size));
  return g;
}

// How the result is cut. It follows from the sizes alone: the number of threads must not change
// which sums are formed how.
class Pieces {
public:
  explicit Pieces(const Gemm &gemm) : gemm(gemm), rowBlock(gemm.m), columnBlock(gemm.n) {
    // Blocks below the limits cost more in packing than they gain in balance; large products
    // are cut further because they are for many cores.
    constexpr int64_t limit = 128, vectorLimit = 512;
    auto enough = static_cast<int64_t>(std::clamp(operations() / 140e6, 32.0, 256.0));
    int64_t rowLimit = gemm.n == 1 ? vectorLimit : limit;
    int64_t columnLimit = gemm.m == 1 ? vectorLimit : limit;
    while (gemm.batch < enough && count() < enough) {
      bool canRows = rowBlock >= 2 * rowLimit, canColumns = columnBlock >= 2 * columnLimit;
      if (!canRows && !canColumns)
        break;
      bool rows = canRows && (!canColumns || rowBlock >= columnBlock);
      int64_t &block = rows ? rowBlock : columnBlock;
      block = (block / 2 + 31) / 32 * 32; // whole register tiles
    }
  }

  int64_t count() const { return gemm.batch * rowBlocks() * columnBlocks(); }

  double operationsEach() const { return operations() / static_cast<double>(count()); }

  struct Piece {
    int64_t batch, row, column, rows, columns;
  };
  Piece operator[](int64_t index) const {
    int64_t column = index % columnBlocks() * columnBlock;
    int64_t row = index / columnBlocks() % rowBlocks() * rowBlock;
    return {index / (columnBlocks() * rowBlocks()), row, column, std::min(rowBlock, gemm.m - row),
            std::min(columnBlock, gemm.n - column)};
  }

private:
  double operations() const {
    double result = 2;
    for (int64_t size : {gemm.batch, gemm.m, gemm.n, gemm.k})
      result *= static_cast<double>(size);
    return result;
  }

  int64_t rowBlocks() const { return (gemm.m + rowBlock - 1) / rowBlock; }
  int64_t columnBlocks() const { return (gemm.n + columnBlock - 1) / columnBlock; }

  const Gemm &gemm;
  int64_t rowBlock, columnBlock;
};

int narrow(int64_t size) { return static_cast<int>(size); }

void zeroPiece(const Gemm &gemm, const Pieces::Piece &piece, float *c) {
  for (int64_t row = 0; row < piece.rows; ++row)
    std::fill_n(c + row * gemm.ldc, piece.columns, 0.0f);
}

void multiplyPiece(const Gemm &gemm, const Pieces::Piece &piece, const float *a, const float *b,
                   float *c) {
  a += piece.batch * gemm.strideA + piece.row * (gemm.transA ? 1 : gemm.lda);
  b += piece.batch * gemm.strideB + piece.column * (gemm.transB ? gemm.ldb : 1);
  c += piece.batch * gemm.strideC + piece.row * gemm.ldc + piece.column;
  int rows = narrow(piece.rows), columns = narrow(piece.columns), k = narrow(gemm.k);
  int lda = narrow(gemm.lda), ldb = narrow(gemm.ldb), ldc = narrow(gemm.ldc);
  if (k == 0)
    return zeroPiece(gemm, piece, c);
  // With a vector, sgemm would spend its time packing. sgemv may multiply what is there by 0, so
  // that stale NaN could survive: it is cleared first.
  if (gemm.n == 1) {
    zeroPiece(gemm, piece, c);
    int stepX = gemm.transB ? 1 : ldb;
    if (gemm.transA)
      return openBlas().sgemv(rowMajor, transposed, k, rows, 1, a, lda, b, stepX, 0, c, ldc);
    return openBlas().sgemv(rowMajor, plain, rows, k, 1, a, lda, b, stepX, 0, c, ldc);
  }
  if (gemm.m == 1) {
    zeroPiece(gemm, piece, c);
    int stepX = gemm.transA ? lda : 1;
    if (gemm.transB)
      return openBlas().sgemv(rowMajor, plain, columns, k, 1, b, ldb, a, stepX, 0, c, 1);
    return openBlas().sgemv(rowMajor, transposed, k, columns, 1, b, ldb, a, stepX, 0, c, 1);
  }
  openBlas().sgemm(rowMajor, gemm.transA ? transposed : plain, gemm.transB ? transposed : plain,
                   rows, columns, k, 1, a, lda, b, ldb, 0, c, ldc);
}

} // namespace

std::string openBlasSgemmFault(std::span<const int64_t> parameters,
                               std::span<const int64_t> operandBytes) {
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
    if (rows.stride < 0 || elements > operandBytes[i] / static_cast<int64_t>(sizeof(float)))
      return "leaves its operand " + std::to_string(i) + " of " + std::to_string(operandBytes[i]) +
             " bytes";
  }
  return "";
}

bool openBlasAvailable() { return openBlas().sgemm != nullptr; }

void openBlasSgemm(const Step &step, void *const *buffers, std::span<const int64_t> parameters,
                   ThreadPool &pool) {
  Gemm gemm = readParameters(step, parameters);
  if (gemm.batch <= 0 || gemm.m == 0 || gemm.n == 0)
    return;
  auto *a = static_cast<const float *>(buffers[0]);
  auto *b = static_cast<const float *>(buffers[1]);
  auto *c = static_cast<float *>(buffers[2]);
  Pieces pieces(gemm);
  // Below about this many operations a piece is over before another thread has begun.
  constexpr double worthSharing = 1e5;
  auto grain = static_cast<int64_t>(worthSharing / std::max(pieces.operationsEach(), 1.0)) + 1;
  pool.parallelFor(pieces.count(), grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      multiplyPiece(gemm, pieces[i], a, b, c);
  });
}

} // namespace headrace
