// Functions whose results depend on many cells in ways of their own.
#include "runtime/sparse/Elementwise.h"

#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::script {

namespace {

/// cumsum and its like, down every column
template <CellFunction F> Value cumulate(HostCall &call) {
  Tensor x = writable(call.arguments[0], call.name());
  int64_t cols = x.shape()[1];
  double *cells = x.as<double>();
  for (int64_t i = cols; i < x.elements(); ++i)
    cells[i] = applyCell<F>(cells[i - cols], cells[i]);
  return x;
}

/// rowcumsum, along every row
Value cumulateRows(HostCall &call) {
  Tensor x = writable(call.arguments[0], call.name());
  int64_t cols = x.shape()[1];
  double *cells = x.as<double>();
  for (int64_t i = 0; i < x.elements(); ++i)
    if (i % cols > 0)
      cells[i] += cells[i - 1];
  return x;
}

/// cumsumprod(x): y[i] = x[i, 1] + x[i, 2] * y[i - 1]
Value cumulateProducts(HostCall &call) {
  Tensor x = call.dense(0);
  if (x.shape()[1] != 2)
    call.fail("expected two columns, got " + describe(call.arguments[0]), ErrorKind::ShapeMismatch);
  Tensor result = newMatrix(x.shape()[0], 1);
  const double *cells = x.as<double>();
  double last = 0;
  for (int64_t i = 0; i < result.elements(); ++i)
    result.as<double>()[i] = last = cells[2 * i] + cells[2 * i + 1] * last;
  return result;
}

/// roll(x, shift): rows moved down; those that leave enter at the top.
Value roll(HostCall &call) {
  const Matrix &x = call.matrix(0);
  int64_t rows = rowsOf(x), shift = call.size(1, 0);
  if (rows == 0)
    return x;
  shift = (shift % rows + rows) % rows;
  std::array<Value, 2> parts{rowsBetween(x, rows - shift, rows), rowsBetween(x, 0, rows - shift)};
  return bound(/*columns=*/false, parts, "roll");
}

// --- Bits --------------------------------------------------------------------------------------

using BitFunction = int32_t (*)(int32_t, int32_t);

BitFunction bitFunction(const std::string &name) {
  static const std::unordered_map<std::string, BitFunction> table = {
      {"bitwAnd", [](int32_t a, int32_t b) { return a & b; }},
      {"bitwOr", [](int32_t a, int32_t b) { return a | b; }},
      {"bitwXor", [](int32_t a, int32_t b) { return a ^ b; }},
      {"bitwShiftL",
       [](int32_t a, int32_t b) {
         return static_cast<int32_t>(static_cast<uint32_t>(a) << (b & 31));
       }},
      {"bitwShiftR", [](int32_t a, int32_t b) { return a >> (b & 31); }}};
  return table.at(name);
}

/// Without its fraction, within 32 bits; NaN is 0.
int32_t bitsOf(double x) {
  return x != x ? 0
                : static_cast<int32_t>(
                      std::clamp(std::trunc(x), double(INT32_MIN), double(INT32_MAX)));
}

/// bitwAnd and its like, of 32-bit integers or of those within cells
Value bitwise(HostCall &call) {
  BitFunction function = bitFunction(call.node.name);
  const Value &a = call.arguments[0], &b = call.arguments[1];
  auto real = [&](double x, double y) {
    return static_cast<double>(function(bitsOf(x), bitsOf(y)));
  };
  if (a.as<int64_t>() && b.as<int64_t>())
    return static_cast<int64_t>(real(call.number(0, 0), call.number(1, 0)));
  if (!a.matrix() && !b.matrix())
    return real(call.number(0, 0), call.number(1, 0));
  auto cells = [&](size_t i) {
    return call.arguments[i].matrix() ? call.dense(i) : filled(call.number(i, 0), 1, 1);
  };
  Tensor x = cells(0), y = cells(1);
  int64_t rows = std::max(x.shape()[0], y.shape()[0]), cols = std::max(x.shape()[1], y.shape()[1]);
  auto repeats = [&](const Tensor &part) {
    return (part.shape()[0] == rows || part.shape()[0] == 1) &&
           (part.shape()[1] == cols || part.shape()[1] == 1);
  };
  if (!repeats(x) || !repeats(y))
    call.fail("expected matrices of equal sizes, a row or a column, got " +
                  describe(call.arguments[0]) + " and " + describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  auto at = [](const Tensor &part, int64_t i, int64_t j) {
    return part.as<double>()[(part.shape()[0] == 1 ? 0 : i) * part.shape()[1] +
                             (part.shape()[1] == 1 ? 0 : j)];
  };
  Tensor result = newMatrix(rows, cols);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      result.as<double>()[i * cols + j] = real(at(x, i, j), at(y, i, j));
  return result;
}

/// NaN is itself here.
bool isCell(double cell, double pattern) {
  return cell == pattern || (std::isnan(cell) && std::isnan(pattern));
}

/// replace(target, pattern, replacement)
Value replace(HostCall &call) {
  double pattern = call.number(1, 0), replacement = call.number(2, 0);
  auto replaced = [&](double cell) { return isCell(cell, pattern) ? replacement : cell; };
  const CsrMatrix *sparse = call.arguments[0].sparse();
  if (sparse && replaced(0) == 0)
    return inPreferredFormat(
        sparse::mapNonzeros(*sparse, [&](std::span<const double> in, std::span<double> out) {
          std::ranges::transform(in, out.begin(), replaced);
        }));
  Tensor x = writable(call.arguments[0], call.name());
  double *cells = x.as<double>();
  std::transform(cells, cells + x.elements(), cells, replaced);
  return inPreferredFormat(x);
}

/// The position of the last extreme of a row, updated cell by cell. NaN is ignored.
struct LastExtreme {
  bool most;
  int64_t at = 0;
  double best = std::nan("");

  void take(int64_t column, double cell) {
    bool further = most ? cell >= best : cell <= best;
    if (std::isnan(best) ? !std::isnan(cell) : further)
      at = column, best = cell;
  }
};

/// The extreme, updated with a row. Among cells that the row does not store, the last one counts.
LastExtreme extremeOf(const CsrMatrix &x, int64_t row, LastExtreme extreme) {
  std::span<const CsrMatrix::Column> columns = x.columnsOf(row);
  int64_t zero = x.cols() - 1;
  for (size_t e = columns.size(); e-- > 0 && columns[e] == zero;)
    --zero;
  for (size_t e = 0; e < columns.size(); ++e) {
    if (zero >= 0 && zero < columns[e] && (e == 0 || columns[e - 1] < zero))
      extreme.take(zero, 0);
    extreme.take(columns[e], x.valuesOf(row)[e]);
  }
  if (zero >= 0 && (columns.empty() || columns.back() < zero))
    extreme.take(zero, 0);
  return extreme;
}

LastExtreme extremeOf(const Tensor &x, int64_t row, LastExtreme extreme) {
  int64_t cols = x.shape()[1];
  for (int64_t j = 0; j < cols; ++j)
    extreme.take(j, x.as<double>()[row * cols + j]);
  return extreme;
}

/// rowIndexMax and rowIndexMin, from 1
Value rowIndex(HostCall &call) {
  LastExtreme none{call.node.name == "rowIndexMax"};
  const Matrix &x = call.matrix(0);
  Tensor result = newMatrix(rowsOf(x), 1);
  std::visit(
      [&](const auto &cells) {
        for (int64_t i = 0; i < result.elements(); ++i)
          result.as<double>()[i] = static_cast<double>(extremeOf(cells, i, none).at + 1);
      },
      x);
  return result;
}

Value contains(HostCall &call) {
  double pattern = call.number(1, 0);
  auto found = [&](double cell) { return isCell(cell, pattern); };
  const Matrix &x = call.matrix(0);
  if (auto *sparse = std::get_if<CsrMatrix>(&x))
    return (pattern == 0 && sparse->nonzeros() < sparse->cells()) ||
           std::ranges::any_of(sparse->values(), found);
  const Tensor &dense = std::get<Tensor>(x);
  return std::any_of(dense.as<double>(), dense.as<double>() + dense.elements(), found);
}

/// (sparse matrix, mean): sum((x - mean)^2) over the extent of the node. Cells that are not stored
/// count together.
Value squaredDeviations(HostCall &call) {
  CsrMatrix x = sparseOf(call.matrix(0));
  Extent extent = call.node.extent;
  int64_t results = extent == Extent::EachRow      ? x.rows()
                    : extent == Extent::EachColumn ? x.cols()
                                                   : 1;
  std::vector<double> means(static_cast<size_t>(results));
  if (extent == Extent::All)
    means[0] = call.number(1, 0);
  else
    std::copy_n(call.dense(1).as<double>(), results, means.begin());
  std::vector<double> sums(means.size());
  std::vector<int64_t> stored(means.size());
  for (int64_t row = 0; row < x.rows(); ++row)
    for (int64_t e = x.offsets()[row]; e < x.offsets()[row + 1]; ++e) {
      int64_t at = extent == Extent::EachRow      ? row
                   : extent == Extent::EachColumn ? x.columns()[e]
                                                  : 0;
      double deviation = x.values()[e] - means[at];
      sums[at] += deviation * deviation;
      ++stored[at];
    }
  int64_t cells = results == 0 ? 0 : x.cells() / results;
  for (size_t i = 0; i < sums.size(); ++i)
    if (stored[i] < cells)
      sums[i] += static_cast<double>(cells - stored[i]) * means[i] * means[i];
  if (extent == Extent::All)
    return sums[0];
  Tensor result = extent == Extent::EachRow ? newMatrix(results, 1) : newMatrix(1, results);
  std::ranges::copy(sums, result.as<double>());
  return result;
}

} // namespace

const HostTable &numericFunctions() {
  static const HostTable table = {{"cumsum", cumulate<CellFunction::Add>},
                                  {"cumprod", cumulate<CellFunction::Multiply>},
                                  {"cummin", cumulate<CellFunction::Min>},
                                  {"cummax", cumulate<CellFunction::Max>},
                                  {"rowcumsum", cumulateRows},
                                  {"cumsumprod", cumulateProducts},
                                  {"roll", roll},
                                  {"bitwAnd", bitwise},
                                  {"bitwOr", bitwise},
                                  {"bitwXor", bitwise},
                                  {"bitwShiftL", bitwise},
                                  {"bitwShiftR", bitwise},
                                  {"replace", replace},
                                  {"rowIndexMax", rowIndex},
                                  {"rowIndexMin", rowIndex},
                                  {"contains", contains},
                                  {"squaredDeviations", squaredDeviations}};
  return table;
}

} // namespace headrace::script
