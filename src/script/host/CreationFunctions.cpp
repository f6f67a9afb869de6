// Functions that make matrices.
#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

void checkSparseSize(const HostCall &call, double rows, double cols, double share) {
  constexpr double most = 0x1p31;
  if (share < 1 && (rows > most || cols > most))
    call.fail("expected at most 2^31 rows and columns, got " + sizesText(rows, cols));
  bool sparse = share < 1 && cols >= 0;
  call.checkSize(rows, sparse ? std::max(1.0, std::ceil(cols * share)) : cols);
}

namespace {

/// seq(from, to, incr)
Value seq(HostCall &call) {
  double from = call.number(0, 1), to = call.number(1, 1);
  double step = call.number(2, from <= to ? 1 : -1);
  bool finite = std::isfinite(from) && std::isfinite(to) && std::isfinite(step);
  if (!finite || step == 0 || (from < to && step < 0) || (from > to && step > 0))
    call.fail("expected a step from " + numberText(from) + " towards " + numberText(to) + ", got " +
              numberText(step));
  double steps = std::floor(to / step - from / step);
  // Rounding may hide that one more step stays within the end.
  double next = from + (steps + 1) * step;
  steps += step > 0 ? next <= to : next >= to;
  call.checkSize(steps + 1, 1);
  auto count = static_cast<int64_t>(steps) + 1;
  Tensor result = newMatrix(count, 1);
  for (int64_t i = 0; i < count; ++i)
    result.as<double>()[i] = from + static_cast<double>(i) * step;
  return result;
}

/// table(a, b), with weights, sizes, or both after them: how often each pair of numbers occurs.
/// Pairs with NaN or 0 do not count.
Value table(HostCall &call) {
  Tensor a = call.dense(0);
  Tensor b =
      call.arguments[1].matrix() ? call.dense(1) : filled(call.number(1, 1), a.elements(), 1);
  Tensor weights;
  size_t sizes = 2;
  if (call.given(2) && !(call.given(3) && !call.given(4))) {
    if (call.arguments[2].matrix())
      weights = call.dense(2);
    else
      weights = filled(call.number(2, 1), a.shape()[0], 1);
    sizes = 3;
  }
  if (a.elements() != b.elements() || (weights && weights.elements() != a.elements()))
    call.fail("expected columns of equal length, got " + std::to_string(a.elements()) + " and " +
                  std::to_string(b.elements()),
              ErrorKind::ShapeMismatch);
  int64_t rows = call.size(sizes, -1), cols = call.size(sizes + 1, -1), maxRow = 0, maxCol = 0;
  if (call.given(sizes))
    checkSparseSize(call, static_cast<double>(rows), static_cast<double>(cols), 0);
  std::vector<int64_t> rowOf, colOf;
  std::vector<double> values;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double row = std::floor(a.as<double>()[i]), col = std::floor(b.as<double>()[i]);
    if (std::isnan(row) || std::isnan(col) || row == 0 || col == 0)
      continue;
    if (!(row >= 1 && col >= 1 && row < 0x1p31 && col < 0x1p31))
      call.fail("expected numbers from 1 to 2^31, got " + numberText(a.as<double>()[i]) + " and " +
                numberText(b.as<double>()[i]));
    // Cells outside the given sizes are left out.
    if ((rows >= 0 && row > static_cast<double>(rows)) ||
        (cols >= 0 && col > static_cast<double>(cols)))
      continue;
    rowOf.push_back(static_cast<int64_t>(row) - 1);
    colOf.push_back(static_cast<int64_t>(col) - 1);
    values.push_back(weights ? weights.as<double>()[i] : 1);
    maxRow = std::max(maxRow, rowOf.back() + 1);
    maxCol = std::max(maxCol, colOf.back() + 1);
  }
  return inPreferredFormat(CsrMatrix::fromCells(rows < 0 ? maxRow : rows, cols < 0 ? maxCol : cols,
                                                rowOf, colOf, values));
}

/// outer(column, row, "op"), or of matrices to whose size the other one is repeated
Value outer(HostCall &call) {
  using enum CellFunction;
  std::string op = call.arguments[2].text("outer");
  const Matrix &a = call.matrix(0), &b = call.matrix(1);
  auto fit = [](int64_t x, int64_t y) { return x == y || x == 1 || y == 1; };
  if (!fit(rowsOf(a), rowsOf(b)) || !fit(colsOf(a), colsOf(b)))
    call.fail("expected a column and a row, or sizes that fit, got " + describe(call.arguments[0]) +
                  " and " + describe(call.arguments[1]),
              ErrorKind::ShapeMismatch);
  for (CellFunction function :
       {Add, Subtract, Multiply, Divide, Power, Modulus, IntegerDivide, Less, LessEqual, Greater,
        GreaterEqual, Equal, NotEqual, And, Or, Min, Max})
    if (describe(function).name == op)
      return applyCells(function, std::span(call.arguments).first(2));
  call.fail("unknown operator \"" + op + "\"");
}

} // namespace

const HostTable &creationFunctions() {
  static const HostTable functions = {{"seq", seq}, {"table", table}, {"outer", outer}};
  return functions;
}

} // namespace headrace::script
