// Functions that move cells about.
#include "runtime/operators/TensorParts.h"
#include "runtime/sparse/Structure.h"

#include "script/host/HostFunctions.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

namespace headrace::script {

Tensor writable(Value &operand, const char *what) {
  operand.expectMatrix(what);
  Matrix matrix = std::move(std::get<Matrix>(operand.data));
  operand = {};
  auto *dense = std::get_if<Tensor>(&matrix);
  // Memory that is borrowed, or that another value shares, is not ours to write to.
  if (dense && dense->owner() && dense->owner().use_count() == 1)
    return std::move(*dense);
  if (!dense)
    return denseOf(matrix);
  Tensor copy = newMatrix(dense->shape()[0], dense->shape()[1]);
  if (dense->bytes() > 0)
    std::memcpy(copy.data(), dense->data(), dense->bytes());
  return copy;
}

namespace {

struct Span {
  int64_t begin, end; // half-open, 0-based
  int64_t size() const { return end - begin; }
};

Span rangeOf(const HostCall &call, size_t first, int64_t all, const char *what) {
  if (!call.given(first))
    return {0, all};
  int64_t from = call.arguments[first].truncated("an index");
  int64_t to = call.arguments[first + 1].truncated("an index");
  if (from < 1 || to > all || to < from)
    throw Error(ErrorKind::InvalidArgument,
                "expected " + std::string(what) + "s from 1 to " + std::to_string(all) + ", got " +
                    std::to_string(from) + (to == from ? "" : ":" + std::to_string(to)));
  return {from - 1, to};
}

Tensor sliceDense(const Tensor &whole, Span rows, Span cols) {
  int64_t width = whole.shape()[1];
  Tensor result = newMatrix(rows.size(), cols.size());
  const double *in = whole.as<double>() + rows.begin * width + cols.begin;
  double *out = result.as<double>();
  if (cols.size() == 0)
    return result;
  int64_t grain = std::max<int64_t>(1, 32768 / cols.size());
  ThreadPool::global().parallelFor(rows.size(), grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(out + i * cols.size(), in + i * width, cols.size() * sizeof(double));
  });
  return result;
}

/// (matrix, first row, last row, first column, last column)
Value index(HostCall &call) {
  const Matrix &whole = call.matrix(0);
  Span rows = rangeOf(call, 1, rowsOf(whole), "row");
  Span cols = rangeOf(call, 3, colsOf(whole), "column");
  if (auto *sparse = std::get_if<CsrMatrix>(&whole))
    return inPreferredFormat(
        sparse::slice(*sparse, {rows.begin, rows.end}, {cols.begin, cols.end}));
  return sliceDense(std::get<Tensor>(whole), rows, cols);
}

/// What is above, next to and below the part stays as it is stored.
Value assignSparse(const CsrMatrix &whole, const Tensor &part, Span rows, Span cols) {
  Tensor cells = part.elements() == 1 ? filled(*part.as<double>(), rows.size(), cols.size()) : part;
  auto columns = [&](int64_t begin, int64_t end) {
    return sparse::slice(whole, {rows.begin, rows.end}, {begin, end});
  };
  CsrMatrix middle = sparse::bindColumns(std::vector{
      columns(0, cols.begin), CsrMatrix::fromDense(cells), columns(cols.end, whole.cols())});
  auto others = [&](int64_t begin, int64_t end) {
    return sparse::slice(whole, {begin, end}, {0, whole.cols()});
  };
  return inPreferredFormat(
      sparse::bindRows(std::vector{others(0, rows.begin), middle, others(rows.end, whole.rows())}));
}

/// (matrix, value, first row, last row, first column, last column)
Value assignIndex(HostCall &call) {
  const Matrix &target = call.matrix(0);
  Span rows = rangeOf(call, 2, rowsOf(target), "row");
  Span cols = rangeOf(call, 4, colsOf(target), "column");
  const Matrix *matrix = call.arguments[1].matrix();
  if (matrix && rowsOf(*matrix) * colsOf(*matrix) != 1 &&
      (rowsOf(*matrix) != rows.size() || colsOf(*matrix) != cols.size()))
    throw Error(ErrorKind::ShapeMismatch,
                "expected " + std::to_string(rows.size()) + " x " + std::to_string(cols.size()) +
                    " cells for the index on the left, got " + describe(call.arguments[1]));
  Tensor part =
      matrix ? denseOf(*matrix) : filled(call.arguments[1].number("an index on the left"), 1, 1);
  if (const CsrMatrix *sparse = call.arguments[0].sparse())
    return assignSparse(*sparse, part, rows, cols);
  Tensor whole = writable(call.arguments[0], "an index on the left");
  int64_t width = whole.shape()[1];
  bool single = part.elements() == 1;
  for (int64_t i = 0; i < rows.size(); ++i) {
    double *out = whole.as<double>() + (rows.begin + i) * width + cols.begin;
    if (single)
      std::fill_n(out, cols.size(), *part.as<double>());
    else if (cols.size() > 0)
      std::memcpy(out, part.as<double>() + i * cols.size(), cols.size() * sizeof(double));
  }
  return whole;
}

Tensor numbersOf(const HostCall &call, const std::string &text) {
  std::vector<double> numbers;
  const char *at = text.data(), *end = at + text.size();
  while (true) {
    while (at < end && (*at == ' ' || *at == ',' || *at == '\n' || *at == '\t'))
      ++at;
    if (at == end)
      break;
    double number;
    auto [after, error] = std::from_chars(at, end, number);
    if (error != std::errc())
      call.fail("expected numeric values in \"" + text + "\"");
    numbers.push_back(number);
    at = after;
  }
  Tensor result = newMatrix(static_cast<int64_t>(numbers.size()), 1);
  std::ranges::copy(numbers, result.as<double>());
  return result;
}

/// A sparse matrix of other sizes with the stored cells that `placeOf` gives a place in it.
template <class PlaceOf>
Matrix movedCells(const CsrMatrix &x, int64_t rows, int64_t cols, PlaceOf placeOf) {
  std::vector<int64_t> rowsTo, colsTo;
  std::vector<double> values;
  for (int64_t row = 0; row < x.rows(); ++row)
    for (int64_t e = x.offsets()[row]; e < x.offsets()[row + 1]; ++e)
      if (std::optional<std::pair<int64_t, int64_t>> to = placeOf(row, int64_t{x.columns()[e]})) {
        rowsTo.push_back(to->first);
        colsTo.push_back(to->second);
        values.push_back(x.values()[e]);
      }
  return inPreferredFormat(CsrMatrix::fromCells(rows, cols, rowsTo, colsTo, values));
}

/// A matrix of other sizes with the same cells in the same order, row by row.
Matrix reshapedSparse(const CsrMatrix &x, int64_t rows, int64_t cols) {
  return movedCells(x, rows, cols, [&](int64_t row, int64_t col) {
    int64_t cell = row * x.cols() + col;
    return std::optional(std::pair(cell / cols, cell % cols));
  });
}

/// matrix(data, rows, cols, byrow) of a matrix or of numbers in a string
Value reshape(HostCall &call) {
  if (call.arguments[0].isNumber())
    return filled(call.number(0, 0), call.size(1, 1), call.size(2, 1));
  Matrix data = call.arguments[0].isString()
                    ? Matrix(numbersOf(call, *call.arguments[0].as<std::string>()))
                    : call.matrix(0);
  int64_t cells = rowsOf(data) * colsOf(data);
  int64_t rows = call.size(1, -1), cols = call.size(2, -1);
  if (rows < 0 && cols < 0)
    rows = cells, cols = 1;
  else if (rows < 0)
    rows = cols == 0 ? 0 : cells / cols;
  else if (cols < 0)
    cols = rows == 0 ? 0 : cells / rows;
  if (rows < 0 || cols < 0 || rows * cols != cells)
    call.fail("expected " + std::to_string(cells) + " cells, got " + std::to_string(rows) + " x " +
                  std::to_string(cols),
              ErrorKind::ShapeMismatch);
  auto reshapedTo = [](const Matrix &matrix, int64_t toRows, int64_t toCols) -> Matrix {
    if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
      return reshapedSparse(*sparse, toRows, toCols);
    return std::get<Tensor>(matrix).reshaped({toRows, toCols});
  };
  if (call.truth(3, true))
    return reshapedTo(data, rows, cols);
  // Column by column on both sides.
  return transposed(reshapedTo(transposed(data), cols, rows));
}

Value diag(HostCall &call) {
  const Matrix &x = call.matrix(0);
  int64_t rows = rowsOf(x), cols = colsOf(x);
  if (cols == 1) {
    Tensor column = call.dense(0);
    std::vector<int64_t> at(rows);
    std::iota(at.begin(), at.end(), 0);
    return inPreferredFormat(
        CsrMatrix::fromCells(rows, rows, at, at, {column.as<double>(), static_cast<size_t>(rows)}));
  }
  if (rows != cols)
    call.fail("expected a column or a square matrix, got " + describe(call.arguments[0]),
              ErrorKind::ShapeMismatch);
  Tensor result = newMatrix(rows, 1);
  for (int64_t i = 0; i < rows; ++i)
    result.as<double>()[i] = std::holds_alternative<CsrMatrix>(x)
                                 ? std::get<CsrMatrix>(x).at(i, i)
                                 : std::get<Tensor>(x).as<double>()[i * cols + i];
  return result;
}

Matrix pickRows(const Matrix &whole, const std::vector<int64_t> &rows) {
  if (auto *sparse = std::get_if<CsrMatrix>(&whole))
    return inPreferredFormat(sparse::pickRows(*sparse, rows));
  const Tensor &matrix = std::get<Tensor>(whole);
  return madeMatrix(static_cast<int64_t>(rows.size()), matrix.shape()[1],
                    [&] { return *operators::take(matrix, 0, rows).tensor(); });
}

Value reverse(HostCall &call) {
  const Matrix &x = call.matrix(0);
  std::vector<int64_t> rows(rowsOf(x));
  std::iota(rows.rbegin(), rows.rend(), 0);
  return pickRows(x, rows);
}

Tensor columnOf(const Matrix &matrix, int64_t column) {
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse::slice(*sparse, {0, sparse->rows()}, {column, column + 1}).toDense();
  const Tensor &dense = std::get<Tensor>(matrix);
  return sliceDense(dense, {0, dense.shape()[0]}, {column, column + 1});
}

/// order(target, by, decreasing, index.return); equal rows keep their order
Value order(HostCall &call) {
  const Matrix &x = call.matrix(0);
  int64_t cols = colsOf(x);
  std::vector<Tensor> by;
  auto addColumn = [&](double column) {
    if (!(column >= 1 && column <= static_cast<double>(cols) && column == std::floor(column)))
      call.fail("expected columns from 1 to " + std::to_string(cols) + ", got " +
                numberText(column));
    by.push_back(columnOf(x, static_cast<int64_t>(column) - 1));
  };
  if (call.given(1) && call.arguments[1].matrix()) {
    Tensor columns = call.dense(1);
    std::ranges::for_each(columns.as<double>(), columns.as<double>() + columns.elements(),
                          addColumn);
  } else {
    addColumn(call.number(1, 1));
  }
  bool decreasing = call.truth(2, false);
  std::vector<int64_t> rows(rowsOf(x));
  std::iota(rows.begin(), rows.end(), 0);
  // NaN is above all numbers.
  auto below = [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; };
  std::ranges::stable_sort(rows, [&](int64_t a, int64_t b) {
    for (const Tensor &column : by) {
      double left = column.as<double>()[a], right = column.as<double>()[b];
      if (below(left, right) || below(right, left))
        return below(left, right) != decreasing;
    }
    return false;
  });
  if (!call.truth(3, false))
    return pickRows(x, rows);
  Tensor result = newMatrix(rowsOf(x), 1);
  std::ranges::transform(rows, result.as<double>(), [](int64_t row) { return row + 1.0; });
  return result;
}

bool hasNonzero(const Matrix &matrix, int64_t row) {
  auto isNonzero = [](double cell) { return cell != 0; };
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return std::ranges::any_of(sparse->valuesOf(row), isNonzero);
  const Tensor &dense = std::get<Tensor>(matrix);
  int64_t cols = dense.shape()[1];
  const double *cells = dense.as<double>() + row * cols;
  return std::any_of(cells, cells + cols, isNonzero);
}

/// removeEmpty(target, margin, select, empty.return)
Value removeEmpty(HostCall &call) {
  std::string margin = call.text(1, "rows");
  if (margin != "rows" && margin != "cols")
    call.fail("expected the margin \"rows\" or \"cols\", got \"" + margin + "\"");
  bool byColumns = margin == "cols";
  Matrix x = byColumns ? transposed(call.matrix(0)) : call.matrix(0);
  Tensor select = call.given(2) ? call.dense(2) : Tensor();
  if (select && select.elements() != rowsOf(x))
    call.fail("expected one cell of 'select' per " + std::string(byColumns ? "column" : "row") +
                  ", got " + std::to_string(select.elements()) + " for " +
                  std::to_string(rowsOf(x)),
              ErrorKind::ShapeMismatch);
  std::vector<int64_t> rows;
  for (int64_t i = 0, count = rowsOf(x); i < count; ++i)
    if (select ? select.as<double>()[i] != 0 : hasNonzero(x, i))
      rows.push_back(i);
  Matrix kept = rows.empty() && call.truth(3, true) ? filled(0, 1, colsOf(x)) : pickRows(x, rows);
  return inPreferredFormat(byColumns ? transposed(kept) : kept);
}

/// lower.tri(target, diag, values), upper.tri likewise
Value triangle(HostCall &call) {
  bool lower = call.node.name == "lower.tri";
  bool diagonal = call.truth(1, false), values = call.truth(2, false);
  auto isInside = [&](int64_t i, int64_t j) { return i == j ? diagonal : (lower ? i > j : i < j); };
  if (const CsrMatrix *sparse = call.arguments[0].sparse(); sparse && values)
    return movedCells(*sparse, sparse->rows(), sparse->cols(), [&](int64_t i, int64_t j) {
      return isInside(i, j) ? std::optional(std::pair(i, j)) : std::nullopt;
    });
  Tensor x = writable(call.arguments[0], call.name());
  int64_t cols = x.shape()[1];
  for (int64_t i = 0; i < x.shape()[0]; ++i)
    for (int64_t j = 0; j < cols; ++j) {
      double &cell = x.as<double>()[i * cols + j];
      cell = !isInside(i, j) ? 0 : values ? cell : 1;
    }
  return inPreferredFormat(x);
}

} // namespace

const HostTable &movementFunctions() {
  static const HostTable table = {{"index", index},
                                  {"assignIndex", assignIndex},
                                  {"matrix", reshape},
                                  {"diag", diag},
                                  {"rev", reverse},
                                  {"order", order},
                                  {"removeEmpty", removeEmpty},
                                  {"lower.tri", triangle},
                                  {"upper.tri", triangle}};
  return table;
}

} // namespace headrace::script
