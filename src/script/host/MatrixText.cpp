#include "script/host/MatrixText.h"

#include <cmath>
#include <cstdio>

namespace headrace::script {

std::string decimalText(double value, int decimals) {
  if (std::isnan(value))
    return "NaN";
  if (std::isinf(value))
    return value > 0 ? "Infinity" : "-Infinity";
  char number[400];
  std::snprintf(number, sizeof number, "%.*f", decimals, value == 0 ? 0 : value); // no -0
  return number;
}

std::string matrixText(const Matrix &matrix, const MatrixTextOptions &options) {
  auto cell = [&](int64_t row, int64_t col) {
    if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
      return sparse->at(row, col);
    return std::get<Tensor>(matrix).as<double>()[row * colsOf(matrix) + col];
  };
  std::string text;
  int64_t rows = std::min(rowsOf(matrix), options.rows);
  int64_t cols = std::min(colsOf(matrix), options.cols);
  for (int64_t row = 0; row < rows; ++row) {
    for (int64_t col = 0; col < cols; ++col) {
      double value = cell(row, col);
      if (!options.cells)
        text += (col ? options.separator : "") + decimalText(value, options.decimals);
      else if (value != 0)
        text += std::to_string(row + 1) + options.separator + std::to_string(col + 1) +
                options.separator + decimalText(value, options.decimals) + options.lineSeparator;
    }
    text += options.cells ? "" : options.lineSeparator;
  }
  return text;
}

} // namespace headrace::script
