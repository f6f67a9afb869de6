#pragma once

#include "runtime/matrix/Matrix.h"

#include <string>

namespace headrace::script {

/// How toString shows a matrix.
struct MatrixTextOptions {
  int64_t rows = 100, cols = 100; ///< at most this many
  int decimals = 3;
  bool cells = false; ///< "row column value" for each cell that is not 0
  std::string separator = " ", lineSeparator = "\n";
};

/// A number with `decimals` digits after the point.
std::string decimalText(double value, int decimals);
std::string matrixText(const Matrix &matrix, const MatrixTextOptions &options);

} // namespace headrace::script
