// Functions that make matrices.
#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

namespace headrace::script {

namespace {

/// A generator whose stream depends on its seed alone (splitmix64).
class Random {
public:
  Random(uint64_t seed, uint64_t stream) : state(seed * 0x9E3779B97F4A7C15u + stream) { next(); }
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// In [0, 1).
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  double normal() {
    double radius = std::sqrt(-2 * std::log(1 - uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

private:
  uint64_t state;
};

struct Distribution {
  double least, most;
  bool normal;
  double draw(Random &random) const {
    return normal ? random.normal() : least + (most - least) * random.uniform();
  }
};

Value randomSparse(int64_t rows, int64_t cols, const Distribution &distribution, double share,
                   uint64_t seed) {
  std::vector<int64_t> rowOf, colOf;
  std::vector<double> values;
  double decay = std::log1p(-share);
  for (int64_t row = 0; row < rows && share > 0; ++row) {
    Random random(seed, static_cast<uint64_t>(row) << 20);
    // From one stored cell to the next: the gaps between successes of independent trials.
    for (double at = -1;;) {
      at += 1 + std::floor(std::log(1 - random.uniform()) / decay);
      if (!(at < static_cast<double>(cols)))
        break;
      rowOf.push_back(row);
      colOf.push_back(static_cast<int64_t>(at));
      values.push_back(distribution.draw(random));
    }
  }
  return inPreferredFormat(CsrMatrix::fromCells(rows, cols, rowOf, colOf, values));
}

/// Checks the size of a matrix of which a share of the cells is stored: it may have more cells than
/// fit into memory, but the stored ones must fit, and row and column numbers have 31 bits.
void checkSparseSize(const HostCall &call, double rows, double cols, double share) {
  constexpr double most = 0x1p31;
  if (share < 1 && (rows > most || cols > most))
    call.fail("expected at most 2^31 rows and columns, got " + sizesText(rows, cols));
  bool sparse = share < 1 && cols >= 0;
  call.checkSize(rows, sparse ? std::max(1.0, std::ceil(cols * share)) : cols);
}

/// rand(rows, cols, min, max, pdf, sparsity, seed)
Value rand(HostCall &call) {
  int64_t rows = call.size(0, 1), cols = call.size(1, 1);
  std::string pdf = call.text(4, "uniform");
  if (pdf != "uniform" && pdf != "normal")
    call.fail("expected the pdf \"uniform\" or \"normal\", got \"" + pdf + "\"");
  Distribution distribution{call.number(2, 0), call.number(3, 1), pdf == "normal"};
  double share = call.number(5, 1);
  if (!(share >= 0 && share <= 1))
    call.fail("expected a sparsity between 0 and 1, got " + numberText(share));
  checkSparseSize(call, static_cast<double>(rows), static_cast<double>(cols), share);
  int64_t given = call.whole(6, -1);
  auto seed = static_cast<uint64_t>(given == -1 ? -call.context.nextSeed++ : given);
  if (share < 1)
    return randomSparse(rows, cols, distribution, share, seed);
  Tensor result = newMatrix(rows, cols);
  double *out = result.as<double>();
  int64_t grain = std::max<int64_t>(1, 16384 / std::max<int64_t>(cols, 1));
  ThreadPool::global().parallelFor(rows, grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      Random random(seed, static_cast<uint64_t>(i) << 20);
      for (int64_t j = 0; j < cols; ++j)
        out[i * cols + j] = distribution.draw(random);
    }
  });
  return result;
}

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

/// sample(range, size, replace, seed): numbers from 1 to range
Value sample(HostCall &call) {
  int64_t range = call.whole(0, 1), size = call.whole(1, 1);
  bool replace = call.truth(2, false);
  constexpr int64_t most = int64_t(1) << 31;
  if (range < 1 || range > most)
    call.fail("expected a range of 1 to " + std::to_string(most) + " numbers, got " +
              std::to_string(range));
  if (size < 1 || (!replace && size > range))
    call.fail("expected " + std::string(replace ? "1 or more" : "1 to " + std::to_string(range)) +
              " numbers to draw, got " + std::to_string(size));
  call.checkSize(static_cast<double>(size), 1);
  int64_t given = call.whole(3, -1);
  Random random(static_cast<uint64_t>(given == -1 ? -call.context.nextSeed++ : given), 0);
  Tensor result = newMatrix(size, 1);
  std::vector<int64_t> numbers(replace ? 0 : range);
  std::iota(numbers.begin(), numbers.end(), 1);
  for (int64_t i = 0; i < size; ++i) {
    int64_t pick = static_cast<int64_t>(random.uniform() * static_cast<double>(range));
    if (!replace)
      std::swap(
          numbers[i],
          numbers[i + static_cast<int64_t>(random.uniform() * static_cast<double>(range - i))]);
    result.as<double>()[i] = static_cast<double>(replace ? pick + 1 : numbers[i]);
  }
  return result;
}

/// table(a, b), with weights, sizes, or both after them: how often each pair of numbers occurs.
/// NaN does not count as a number.
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
    if (std::isnan(row) || std::isnan(col))
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

/// outer(column, row, "op")
Value outer(HostCall &call) {
  using enum CellFunction;
  std::string op = call.arguments[2].text("outer");
  const Matrix &a = call.matrix(0), &b = call.matrix(1);
  if (colsOf(a) != 1 || rowsOf(b) != 1)
    call.fail("expected a column and a row, got " + describe(call.arguments[0]) + " and " +
                  describe(call.arguments[1]),
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
  static const HostTable functions = {
      {"rand", rand}, {"seq", seq}, {"sample", sample}, {"table", table}, {"outer", outer}};
  return functions;
}

} // namespace headrace::script
