// The product every contraction and convolution comes down to, in the wide types.
#pragma once

#include "runtime/system/Interruption.h"

#include <algorithm>
#include <cstdint>

namespace headrace::reference {

/// c[m][n] += a[m][k] * b[k][n], all row-major. Columns are taken in pieces that stay in the first
/// cache, rows in fours so that each element of b is used four times once it is loaded.
template <class T>
void addMatrixProduct(int64_t m, int64_t n, int64_t k, const T *a, const T *b, T *c) {
  constexpr int64_t width = 256;
  for (int64_t begin = 0; begin < n; begin += width) {
    int64_t count = std::min(width, n - begin);
    int64_t i = 0;
    for (; i + 4 <= m; i += 4) {
      pollInterruption();
      T *c0 = c + i * n + begin, *c1 = c0 + n, *c2 = c1 + n, *c3 = c2 + n;
      for (int64_t p = 0; p < k; ++p) {
        const T *row = b + p * n + begin;
        T a0 = a[i * k + p], a1 = a[(i + 1) * k + p], a2 = a[(i + 2) * k + p],
          a3 = a[(i + 3) * k + p];
        for (int64_t j = 0; j < count; ++j) {
          T value = row[j];
          c0[j] += a0 * value;
          c1[j] += a1 * value;
          c2[j] += a2 * value;
          c3[j] += a3 * value;
        }
      }
    }
    for (; i < m; ++i) {
      pollInterruption();
      for (int64_t p = 0; p < k; ++p)
        for (int64_t j = 0; j < count; ++j)
          c[i * n + begin + j] += a[i * k + p] * b[p * n + begin + j];
    }
  }
}

} // namespace headrace::reference
