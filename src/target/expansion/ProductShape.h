// Contractions, convolutions and attention as products of matrices, at nominal sizes, for costs.
#pragma once

#include "analysis/OperatorWork.h"

namespace headrace {

/// `batch` products of a [rows x depth] and a [depth x columns] matrix.
struct ProductShape {
  double batch = 1, rows = 1, columns = 1, depth = 1;

  double operations() const { return 2 * batch * rows * columns * depth; }
  /// The side of a cube that a library computes as fast: packing operands and writing results
  /// counts by the inverse of the sides.
  double side() const { return 3 / (1 / rows + 1 / columns + 1 / depth); }
};

/// Of a sum of products with two operands. A convolution's rows are the positions of its windows.
ProductShape productShape(hr::OperatorInterface op, const NominalSizes &sizes);

} // namespace headrace
