#include "runtime/library/NarrowProduct.h"

#include <algorithm>

namespace headrace {

namespace {

// A block of rows is transposed into the cache; sums are formed by lanes, the same ones in the same
// order whatever the processor's vectors are.
// Columns of the block do not lie a power of 2 apart, which would be the same places of the cache.
constexpr int64_t kRows = 256, kStride = kRows + 32, kTileRows = 2, kTileColumns = 4;

template <class T> struct Lanes {
  static constexpr int64_t count = 64 / sizeof(T);
  using Vector __attribute__((vector_size(64))) = T;
};

template <class T> struct Block {
  static constexpr int64_t maxColumns = NarrowProduct::maxColumns;
  alignas(64) T columns[maxColumns][kStride];
  T sums[maxColumns][maxColumns];
};

template <class T>
[[gnu::always_inline]] inline void pack(const NarrowProduct &product, const T *x, int64_t rows,
                                        Block<T> &block) {
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < product.columns; ++j)
      block.columns[j][i] = x[i * product.leading + j];
  if (rows < kRows)
    for (int64_t j = 0; j < product.columns; ++j)
      std::fill(block.columns[j] + rows, block.columns[j] + kRows, T(0));
}

template <class T>
[[gnu::always_inline]] inline void addTile(Block<T> &block, int64_t row, int64_t column) {
#pragma clang fp contract(fast)
  using Vector = typename Lanes<T>::Vector;
  Vector sums[kTileRows][kTileColumns] = {};
  for (int64_t at = 0; at < kRows; at += Lanes<T>::count) {
    const T *rows = block.columns[0] + at;
#pragma clang loop unroll(full)
    for (int64_t i = 0; i < kTileRows; ++i) {
      Vector left = *reinterpret_cast<const Vector *>(rows + (row + i) * kStride);
#pragma clang loop unroll(full)
      for (int64_t j = 0; j < kTileColumns; ++j)
        sums[i][j] =
            left * *reinterpret_cast<const Vector *>(rows + (column + j) * kStride) + sums[i][j];
    }
  }
#pragma clang loop unroll(full)
  for (int64_t i = 0; i < kTileRows; ++i)
#pragma clang loop unroll(full)
    for (int64_t j = 0; j < kTileColumns; ++j) {
      T sum = 0;
      for (int64_t lane = 0; lane < Lanes<T>::count; ++lane)
        sum += sums[i][j][lane];
      block.sums[row + i][column + j] += sum;
    }
}

template <class T>
[[gnu::always_inline]] inline void multiplyAll(const NarrowProduct &product, const T *x, T *out) {
  // Columns beyond the last one are zeros, and their sums are not read.
  Block<T> block = {};
  for (int64_t first = 0; first < product.rows; first += kRows) {
    pack(product, x + first * product.leading, std::min(kRows, product.rows - first), block);
    for (int64_t row = 0; row < product.columns; row += kTileRows)
      for (int64_t column = row / kTileColumns * kTileColumns; column < product.columns;
           column += kTileColumns)
        addTile(block, row, column);
  }
  for (int64_t i = 0; i < product.columns; ++i)
    for (int64_t j = i; j < product.columns; ++j)
      out[i * product.outLeading + j] = block.sums[i][j];
}

template <class T> using Function = void (*)(const NarrowProduct &, const T *, T *);

template <class T> void anyProduct(const NarrowProduct &product, const T *x, T *out) {
  multiplyAll(product, x, out);
}

#if defined(__x86_64__)
template <class T>
__attribute__((target("avx512f,fma"))) void product512(const NarrowProduct &product, const T *x,
                                                       T *out) {
  multiplyAll(product, x, out);
}
template <class T>
__attribute__((target("avx2,fma"))) void product256(const NarrowProduct &product, const T *x,
                                                    T *out) {
  multiplyAll(product, x, out);
}

template <class T> Function<T> choose() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("fma"))
    return product512<T>;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return product256<T>;
  return anyProduct<T>;
}
#else
template <class T> Function<T> choose() { return anyProduct<T>; }
#endif

template <class T> void run(const NarrowProduct &product, const T *x, T *out) {
  static const Function<T> chosen = choose<T>();
  chosen(product, x, out);
}

} // namespace

void multiply(const NarrowProduct &product, const double *x, double *out) { run(product, x, out); }
void multiply(const NarrowProduct &product, const float *x, float *out) { run(product, x, out); }

} // namespace headrace
