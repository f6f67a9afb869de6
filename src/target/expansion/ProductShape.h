// Contractions, convolutions and attention as products of matrices, at the size hints, for costs.
#pragma once

#include "analysis/OperatorWork.h"

namespace headrace {

/// `batch` products of a [rows x depth] and a [depth x columns] matrix.
struct ProductShape {
  double batch = 1, rows = 1, columns = 1, depth = 1;

  double operations() const { return 2 * batch * rows * columns * depth; }
  /// The side that a library's speed depends on: packing operands pays by how often they are used.
  double side() const { return std::min({rows, columns, depth}); }
};

/// The shape of a contraction or convolution as a matmul. A convolution's rows are the positions of
/// its windows.
ProductShape productShape(hr::OperatorInterface op, const SizeHints &sizes);

} // namespace headrace
