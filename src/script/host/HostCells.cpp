#include "script/host/HostCells.h"

#include "runtime/sparse/Elementwise.h"
#include "runtime/sparse/NonFinite.h"

#include "script/host/HostOperations.h"
#include <algorithm>
#include <cmath>

namespace headrace::script {

// Cells that one thread should have at least.
static constexpr int64_t kGrain = 32768;

static const char *nameOf(CellFunction function) { return describe(function).name.data(); }

// --- Scalars ---------------------------------------------------------------------------------

[[noreturn]] static void failOverflow(CellFunction function, int64_t a, int64_t b) {
  throw Error(ErrorKind::InvalidArgument, std::to_string(a) + " " + nameOf(function) + " " +
                                              std::to_string(b) +
                                              ": expected a result that fits a 64-bit integer");
}

static int64_t applyWhole(CellFunction function, int64_t a, int64_t b) {
  using enum CellFunction;
  int64_t result = 0;
  bool overflow = false;
  switch (function) {
  case Negate:
    overflow = __builtin_sub_overflow(int64_t(0), a, &result);
    break;
  case Abs:
    overflow = a == INT64_MIN;
    result = overflow ? 0 : std::abs(a);
    break;
  case Add:
    overflow = __builtin_add_overflow(a, b, &result);
    break;
  case Subtract:
    overflow = __builtin_sub_overflow(a, b, &result);
    break;
  case Multiply:
    overflow = __builtin_mul_overflow(a, b, &result);
    break;
  case Min:
    return std::min(a, b);
  case Max:
    return std::max(a, b);
  case Modulus:
    return b == 0 || b == -1 ? 0 : a % b;
  case IntegerDivide:
    overflow = b == 0 || (a == INT64_MIN && b == -1);
    result = overflow ? 0 : a / b;
    break;
  case IsNan:
  case IsInfinite:
    return 0;
  case Less:
    return a < b;
  case LessEqual:
    return a <= b;
  case Greater:
    return a > b;
  case GreaterEqual:
    return a >= b;
  case Equal:
    return a == b;
  case NotEqual:
    return a != b;
  default:
    throw InternalError("'" + std::string(nameOf(function)) + "' of integers is not an integer");
  }
  if (overflow)
    failOverflow(function, a, b);
  return result;
}

/// Strings compare by their characters, and a number next to a string by the text that shows it.
static std::optional<bool> compareTexts(CellFunction function, std::span<const Value> operands) {
  using enum CellFunction;
  if (operands.size() != 2 || (!operands[0].isString() && !operands[1].isString()))
    return std::nullopt;
  auto order = toText(operands[0]).compare(toText(operands[1]));
  if (function < Less || function > NotEqual)
    return std::nullopt;
  return apply(function, order, 0) != 0;
}

static Value withType(double number, ValueType type) {
  if (type == ValueType::Boolean)
    return number != 0;
  return type == ValueType::Integer ? Value(static_cast<int64_t>(number)) : Value(number);
}

static Value applyScalars(CellFunction function, std::span<const Value> operands) {
  using enum CellFunction;
  if (auto truth = compareTexts(function, operands))
    return *truth;
  ValueType types[3] = {};
  bool whole = true;
  for (size_t i = 0; i < operands.size(); ++i) {
    types[i] = operands[i].type().value;
    whole &= types[i] == ValueType::Integer || types[i] == ValueType::Boolean;
  }
  ValueType type = scalarResult(function, {types, operands.size()});
  if (function == IfElse) {
    const Value &chosen = operands[operands[0].truth("ifelse") ? 1 : 2];
    return type == ValueType::Double ? Value(chosen.number("ifelse")) : chosen;
  }
  bool compares = function >= Less && function <= NotEqual;
  if (whole && (compares || type == ValueType::Integer)) {
    int64_t second = operands.size() > 1 ? operands[1].whole(nameOf(function)) : 0;
    int64_t result = applyWhole(function, operands[0].whole(nameOf(function)), second);
    return compares ? Value(result != 0) : Value(result);
  }
  double numbers[2] = {};
  for (size_t i = 0; i < operands.size(); ++i)
    numbers[i] = operands[i].number(nameOf(function));
  return withType(apply(function, numbers[0], numbers[1]), type);
}

// --- Dense -----------------------------------------------------------------------------------

static void checkSizes(CellFunction function, std::span<const Value> operands, int64_t rows,
                       int64_t cols) {
  for (const Value &operand : operands) {
    if (!operand.matrix())
      continue;
    int64_t r = rowsOf(*operand.matrix()), c = colsOf(*operand.matrix());
    if ((r != rows && r != 1) || (c != cols && c != 1))
      throw Error(ErrorKind::ShapeMismatch,
                  "'" + std::string(nameOf(function)) + "' of matrices of " + std::to_string(rows) +
                      " x " + std::to_string(cols) + " and " + std::to_string(r) + " x " +
                      std::to_string(c) + ": expected equal sizes, a row or a column");
  }
}

namespace {
/// A matrix, or a number in its place, and how far it is from one cell to the next.
struct Operand {
  const double *data = nullptr;
  int64_t rowStride = 0, colStride = 0;
  double at(int64_t row, int64_t col) const { return data[row * rowStride + col * colStride]; }
};
} // namespace

static Tensor applyDense(CellFunction function, std::span<const Value> values, int64_t rows,
                         int64_t cols) {
  std::vector<Tensor> tensors(values.size());
  double numbers[3] = {};
  Operand operands[3] = {{&numbers[0]}, {&numbers[1]}, {&numbers[2]}};
  for (size_t i = 0; i < values.size(); ++i) {
    if (!values[i].matrix()) {
      numbers[i] = values[i].number(nameOf(function));
      continue;
    }
    tensors[i] = denseOf(*values[i].matrix());
    int64_t r = tensors[i].shape()[0], c = tensors[i].shape()[1];
    operands[i] = {tensors[i].as<double>(), r == 1 ? 0 : c, c == 1 ? 0 : 1};
  }
  Tensor result = newMatrix(rows, cols);
  double *out = result.as<double>();
  int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(cols, 1));
  withCellFunction(function, [&]<CellFunction F>() {
    ThreadPool::global().parallelFor(rows, grain, [&](int64_t begin, int64_t end, int) {
      Operand a = operands[0], b = operands[1], c = operands[2];
      for (int64_t i = begin; i < end; ++i)
        for (int64_t j = 0; j < cols; ++j)
          out[i * cols + j] = applyCell<F>(a.at(i, j), b.at(i, j), c.at(i, j));
    });
  });
  return result;
}

// --- Sparse ----------------------------------------------------------------------------------

static std::optional<sparse::Binary> sparseFunction(CellFunction function) {
  using enum CellFunction;
  switch (function) {
  case Add:
    return sparse::Binary::Add;
  case Subtract:
    return sparse::Binary::Subtract;
  case Multiply:
    return sparse::Binary::Multiply;
  case Min:
    return sparse::Binary::Minimum;
  case Max:
    return sparse::Binary::Maximum;
  case NotEqual:
    return sparse::Binary::NotEqual;
  case Less:
    return sparse::Binary::Less;
  case Greater:
    return sparse::Binary::Greater;
  case And:
    return sparse::Binary::And;
  case Or:
    return sparse::Binary::Or;
  default:
    return std::nullopt;
  }
}

/// Whether quotients by this matrix are 0 if the dividend is.
static bool keepsZeros(const Tensor &divisor) {
  const double *cells = divisor.as<double>();
  return std::none_of(cells, cells + divisor.elements(),
                      [](double cell) { return cell == 0 || cell != cell; });
}

/// 1 for every cell that is not 0.
static CsrMatrix isSet(const CsrMatrix &x) {
  return sparse::mapNonzeros(x, [](std::span<const double> in, std::span<double> out) {
    std::ranges::transform(in, out.begin(), [](double cell) { return cell != 0 ? 1.0 : 0.0; });
  });
}

static Tensor isSet(const Tensor &x) {
  Value operands[] = {x, 0.0};
  return applyDense(CellFunction::NotEqual, operands, x.shape()[0], x.shape()[1]);
}

/// `value` of every cell, if all that are not stored have the same.
template <class Function> static Tensor appliedToAll(const CsrMatrix &x, Function value) {
  int64_t cols = x.cols();
  Tensor result = newMatrix(x.rows(), cols);
  double ofZero = value(0);
  int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(cols, 1));
  ThreadPool::global().parallelFor(x.rows(), grain, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      double *out = result.as<double>() + row * cols;
      std::fill_n(out, cols, ofZero);
      for (int64_t e = x.offsets()[row]; e < x.offsets()[row + 1]; ++e)
        out[x.columns()[e]] = value(x.values()[e]);
    }
  });
  return result;
}

/// A sparse matrix and a number, or nothing else.
static Value applySparse(CellFunction function, const CsrMatrix &x, const Value *number,
                         bool numberFirst) {
  double constant = number ? number->number(nameOf(function)) : 0;
  auto value = [&](double cell) {
    return numberFirst ? apply(function, constant, cell) : apply(function, cell, constant);
  };
  if (value(0) != 0)
    return appliedToAll(x, value);
  auto map = [&](std::span<const double> in, std::span<double> out) {
    std::ranges::transform(in, out.begin(), value);
  };
  return sparse::mapNonzeros(x, map).withoutZeros();
}

/// A sparse matrix and another matrix.
static std::optional<Value> applySparse(CellFunction function, const Matrix &a, const Matrix &b) {
  using enum CellFunction;
  const CsrMatrix *left = std::get_if<CsrMatrix>(&a), *right = std::get_if<CsrMatrix>(&b);
  int64_t rows = rowsOf(a), cols = colsOf(a), r = rowsOf(b), c = colsOf(b);
  if (left && right && rows == r && cols == c) {
    auto kind = sparseFunction(function);
    if (!kind)
      return std::nullopt;
    return Value(inPreferredFormat(sparse::combine(*kind, *left, *right)));
  }
  bool repeatsRight = (r == rows || r == 1) && (c == cols || c == 1);
  bool repeatsLeft = (r == rows || rows == 1) && (c == cols || cols == 1);
  if (function == Multiply && left && repeatsRight)
    if (Tensor factor = denseOf(b); sparse::allFinite(factor))
      return Value(sparse::multiply(*left, factor));
  if (function == Multiply && right && repeatsLeft)
    if (Tensor factor = denseOf(a); sparse::allFinite(factor))
      return Value(sparse::multiply(*right, factor));
  if (function == And && left && repeatsRight)
    return Value(sparse::multiply(isSet(*left), isSet(denseOf(b))));
  if (function == And && right && repeatsLeft)
    return Value(sparse::multiply(isSet(*right), isSet(denseOf(a))));
  if (function == Divide && left && repeatsRight)
    if (Tensor divisor = denseOf(b); keepsZeros(divisor))
      return Value(sparse::divide(*left, divisor));
  if ((function == Multiply || function == Divide) && left && !right)
    if (auto result = withRepeated(function, *left, std::get<Tensor>(b)))
      return Value(std::move(*result));
  return std::nullopt;
}

/// ifelse of a sparse condition that gives 0 if that is 0.
static std::optional<Value> chooseSparse(std::span<const Value> operands) {
  const CsrMatrix *condition = operands[0].sparse();
  const Value &yes = operands[1], &no = operands[2];
  if (!condition || no.matrix() || no.number("ifelse") != 0)
    return std::nullopt;
  auto covers = [&](int64_t size, int64_t whole) { return size == whole || size == 1; };
  if (yes.matrix() && !(covers(rowsOf(*yes.matrix()), condition->rows()) &&
                        covers(colsOf(*yes.matrix()), condition->cols())))
    return std::nullopt;
  CsrMatrix pattern = condition->withoutZeros();
  Tensor chosen = yes.matrix() ? sampled(pattern, *yes.matrix())
                               : filled(yes.number("ifelse"), pattern.nonzeros(), 1);
  return Value(
      inPreferredFormat(pattern.withValues(chosen.reshaped({pattern.nonzeros()})).withoutZeros()));
}

/// The result if it can be had from stored cells alone.
static std::optional<Value> applySparse(CellFunction function, std::span<const Value> operands) {
  if (function == CellFunction::IfElse)
    return chooseSparse(operands);
  if (operands.size() == 1 && operands[0].sparse())
    return applySparse(function, *operands[0].sparse(), nullptr, false);
  if (operands.size() != 2 || (!operands[0].sparse() && !operands[1].sparse()))
    return std::nullopt;
  if (!operands[0].matrix())
    return applySparse(function, *operands[1].sparse(), &operands[0], true);
  if (!operands[1].matrix())
    return applySparse(function, *operands[0].sparse(), &operands[1], false);
  return applySparse(function, *operands[0].matrix(), *operands[1].matrix());
}

Value applyCells(CellFunction function, std::span<const Value> operands) {
  bool anyMatrix = std::ranges::any_of(operands, [](const Value &v) { return v.matrix(); });
  if (!anyMatrix)
    return applyScalars(function, operands);
  int64_t rows = 1, cols = 1;
  for (const Value &operand : operands) {
    if (!operand.matrix())
      continue;
    rows = rows == 1 ? rowsOf(*operand.matrix()) : rows;
    cols = cols == 1 ? colsOf(*operand.matrix()) : cols;
  }
  checkSizes(function, operands, rows, cols);
  if (auto result = applySparse(function, operands))
    return std::move(*result);
  return applyDense(function, operands, rows, cols);
}

} // namespace headrace::script
