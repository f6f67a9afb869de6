#include "runtime/sparse/NonFinite.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace headrace::sparse {

static constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

bool allFinite(std::span<const double> values) {
  constexpr uint64_t exponent = 0x7ff0000000000000;
  constexpr size_t block = 1024; // without a branch, so that vectors do it
  for (size_t begin = 0; begin < values.size(); begin += block) {
    uint64_t found = 0;
    for (double value : values.subspan(begin, std::min(block, values.size() - begin)))
      found |= (std::bit_cast<uint64_t>(value) & exponent) == exponent;
    if (found)
      return false;
  }
  return true;
}

bool allFinite(const Tensor &dense) {
  return allFinite({dense.as<double>(), static_cast<size_t>(dense.elements())});
}

/// The rows of each column that hold what is not finite, for columns that have some.
static std::vector<std::pair<int64_t, std::vector<int64_t>>> nonFiniteRows(const Tensor &b) {
  std::vector<std::pair<int64_t, std::vector<int64_t>>> found;
  int64_t rows = b.shape()[0], cols = b.shape()[1];
  for (int64_t col = 0; col < cols; ++col) {
    std::vector<int64_t> at;
    for (int64_t row = 0; row < rows; ++row)
      if (!std::isfinite(b.as<double>()[row * cols + col]))
        at.push_back(row);
    if (!at.empty())
      found.emplace_back(col, std::move(at));
  }
  return found;
}

void addUnstoredLeft(const CsrMatrix &a, const Tensor &b, Tensor &result) {
  std::vector<char> meets(a.cols());
  for (const auto &[col, rows] : nonFiniteRows(b)) {
    for (int64_t row : rows)
      meets[row] = 1;
    for (int64_t i = 0; i < a.rows(); ++i) {
      auto columns = a.columnsOf(i);
      auto stored = std::ranges::count_if(columns, [&](auto column) { return meets[column]; });
      if (stored < std::ssize(rows))
        result.as<double>()[i * b.shape()[1] + col] = kNan;
    }
    for (int64_t row : rows)
      meets[row] = 0;
  }
}

/// How many of these rows of the matrix store each column.
static std::vector<int64_t> storedIn(const CsrMatrix &matrix, const std::vector<int64_t> &rows) {
  std::vector<int64_t> stored(matrix.cols());
  for (int64_t row : rows)
    for (auto column : matrix.columnsOf(row))
      ++stored[column];
  return stored;
}

void addUnstoredTransposed(const CsrMatrix &a, const Tensor &b, Tensor &result) {
  for (const auto &[col, rows] : nonFiniteRows(b)) {
    std::vector<int64_t> stored = storedIn(a, rows);
    for (int64_t i = 0; i < a.cols(); ++i)
      if (stored[i] < std::ssize(rows))
        result.as<double>()[i * b.shape()[1] + col] = kNan;
  }
}

void addUnstoredRight(const Tensor &a, const CsrMatrix &b, Tensor &result) {
  int64_t inner = a.shape()[1];
  for (int64_t i = 0; i < a.shape()[0]; ++i) {
    std::vector<int64_t> at;
    for (int64_t k = 0; k < inner; ++k)
      if (!std::isfinite(a.as<double>()[i * inner + k]))
        at.push_back(k);
    if (at.empty())
      continue;
    std::vector<int64_t> stored = storedIn(b, at);
    for (int64_t j = 0; j < b.cols(); ++j)
      if (stored[j] < std::ssize(at))
        result.as<double>()[i * b.cols() + j] = kNan;
  }
}

} // namespace headrace::sparse
