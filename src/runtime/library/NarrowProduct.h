#pragma once

#include <cstdint>

namespace headrace {

/// The upper triangle of t(x) %*% x becomes `out`, of a matrix with few columns: BLAS takes longer
/// to pack such a matrix than to multiply it. `leading` and `outLeading` are the elements from a
/// row to the next.
struct NarrowProduct {
  static constexpr int64_t maxColumns = 24;
  static bool applies(int64_t rows, int64_t columns) {
    return columns <= maxColumns && rows >= 16 * columns;
  }

  int64_t rows, columns, leading, outLeading;
};
void multiply(const NarrowProduct &product, const double *x, double *out);
void multiply(const NarrowProduct &product, const float *x, float *out);

} // namespace headrace
