#include "script/host/HostOperations.h"

#include "runtime/sparse/Products.h"
#include "runtime/sparse/Reductions.h"
#include "runtime/sparse/Structure.h"

#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include "script/plan/ZeroCells.h"
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

namespace headrace::script {

static constexpr int64_t kGrain = 16384;

/// Rows that one thread should have at least.
static int64_t rowGrain(int64_t cellsPerRow) {
  return std::max<int64_t>(1, kGrain / std::max<int64_t>(cellsPerRow, 1));
}

Tensor filled(double value, int64_t rows, int64_t cols) {
  checkMatrixSize("matrix", static_cast<double>(rows), static_cast<double>(cols));
  Tensor result = newMatrix(rows, cols);
  std::fill_n(result.as<double>(), result.elements(), value);
  return result;
}

// --- Movement --------------------------------------------------------------------------------

static Tensor transposedDense(const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  if (rows == 1 || cols == 1)
    return matrix.reshaped({cols, rows});
  Tensor result = newMatrix(cols, rows);
  transposeInto(matrix, result);
  return result;
}

Matrix transposed(const Matrix &matrix) {
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse::transpose(*sparse);
  return transposedDense(std::get<Tensor>(matrix));
}

Matrix bound(bool columns, std::span<const Value> parts) {
  bool allSparse = true;
  int64_t rows = 0, cols = 0;
  for (const Value &part : parts) {
    const Matrix &matrix = part.expectMatrix(columns ? "cbind" : "rbind");
    allSparse &= std::holds_alternative<CsrMatrix>(matrix);
    int64_t across = columns ? rowsOf(matrix) : colsOf(matrix);
    int64_t &common = columns ? rows : cols;
    if (&part != &parts.front() && across != common)
      throw Error(ErrorKind::ShapeMismatch, std::string(columns ? "cbind" : "rbind") +
                                                " of matrices of " + std::to_string(common) +
                                                " and " + std::to_string(across) +
                                                (columns ? " rows" : " columns"));
    common = across;
    (columns ? cols : rows) += columns ? colsOf(matrix) : rowsOf(matrix);
  }
  if (allSparse) {
    std::vector<CsrMatrix> sparse;
    for (const Value &part : parts)
      sparse.push_back(*part.sparse());
    return columns ? sparse::bindColumns(sparse) : sparse::bindRows(sparse);
  }
  Tensor result = newMatrix(rows, cols);
  double *out = result.as<double>();
  for (const Value &part : parts) {
    Tensor dense = part.dense("bind");
    int64_t height = dense.shape()[0], width = dense.shape()[1];
    for (int64_t i = 0; i < height && width > 0; ++i)
      std::memcpy(out + i * cols, dense.as<double>() + i * width, width * sizeof(double));
    out += columns ? width : height * cols;
  }
  return result;
}

Tensor sampled(const CsrMatrix &pattern, const Matrix &x) {
  Tensor dense = denseOf(x);
  Tensor result = newMatrix(pattern.nonzeros(), 1);
  int64_t rowStride = dense.shape()[0] == 1 ? 0 : dense.shape()[1];
  int64_t colStride = dense.shape()[1] == 1 ? 0 : 1;
  const double *in = dense.as<double>();
  double *out = result.as<double>();
  auto offsets = pattern.offsets();
  auto columns = pattern.columns();
  ThreadPool::global().parallelFor(pattern.rows(), 256, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t at = offsets[row]; at < offsets[row + 1]; ++at)
        out[at] = in[row * rowStride + columns[at] * colStride];
  });
  return result;
}

// --- Aggregates ------------------------------------------------------------------------------

static double startOf(AggregateKind kind) {
  switch (kind) {
  case AggregateKind::Min:
    return std::numeric_limits<double>::infinity();
  case AggregateKind::Max:
    return -std::numeric_limits<double>::infinity();
  case AggregateKind::Product:
    return 1;
  default:
    return 0;
  }
}

static double combine(AggregateKind kind, double a, double b) {
  switch (kind) {
  case AggregateKind::Min:
    return applyCell<CellFunction::Min>(a, b);
  case AggregateKind::Max:
    return applyCell<CellFunction::Max>(a, b);
  case AggregateKind::Product:
    return a * b;
  default:
    return a + b;
  }
}

static std::optional<sparse::Aggregate> sparseAggregate(AggregateKind kind) {
  switch (kind) {
  case AggregateKind::Sum:
    return sparse::Aggregate::Sum;
  case AggregateKind::Mean:
    return sparse::Aggregate::Mean;
  case AggregateKind::Min:
    return sparse::Aggregate::Minimum;
  case AggregateKind::Max:
    return sparse::Aggregate::Maximum;
  case AggregateKind::Product:
    return std::nullopt;
  }
  return std::nullopt;
}

/// One result per row; the rows of a whole matrix are then combined in order.
static Tensor aggregateRows(AggregateKind kind, const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor result = newMatrix(rows, 1);
  const double *in = matrix.as<double>();
  double *out = result.as<double>();
  ThreadPool::global().parallelFor(rows, rowGrain(cols), [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      double value = startOf(kind);
      for (int64_t j = 0; j < cols; ++j)
        value = combine(kind, value, in[i * cols + j]);
      out[i] = kind == AggregateKind::Mean ? value / static_cast<double>(cols) : value;
    }
  });
  return result;
}

static Tensor aggregateColumns(AggregateKind kind, const Tensor &matrix) {
  int64_t rows = matrix.shape()[0], cols = matrix.shape()[1];
  Tensor result = filled(startOf(kind), 1, cols);
  const double *in = matrix.as<double>();
  double *out = result.as<double>();
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < cols; ++j)
      out[j] = combine(kind, out[j], in[i * cols + j]);
  if (kind == AggregateKind::Mean)
    std::for_each(out, out + cols, [&](double &value) { value /= static_cast<double>(rows); });
  return result;
}

Value aggregate(AggregateKind kind, Extent extent, const Matrix &matrix) {
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix)) {
    if (auto aggregate = sparseAggregate(kind)) {
      if (extent == Extent::All)
        return sparse::reduce(*aggregate, *sparse);
      return extent == Extent::EachRow ? sparse::reduceRows(*aggregate, *sparse)
                                       : sparse::reduceColumns(*aggregate, *sparse);
    }
  }
  Tensor dense = denseOf(matrix);
  if (extent == Extent::EachRow)
    return aggregateRows(kind, dense);
  if (extent == Extent::EachColumn)
    return aggregateColumns(kind, dense);
  // Row by row, so that the sum of many cells keeps its digits; a column as rows of its own.
  int64_t cells = dense.elements();
  int64_t width = dense.shape()[1] > 1 ? dense.shape()[1] : 1024;
  bool mean = kind == AggregateKind::Mean;
  AggregateKind plain = mean ? AggregateKind::Sum : kind;
  int64_t whole = width > 0 ? cells / width : 0;
  Tensor rows =
      aggregateRows(plain, Tensor::borrow(DType::F64, {whole, width}, dense.data(), nullptr));
  double value = startOf(plain);
  for (int64_t i = 0; i < whole; ++i)
    value = combine(plain, value, rows.as<double>()[i]);
  for (int64_t i = whole * width; i < cells; ++i)
    value = combine(plain, value, dense.as<double>()[i]);
  return mean ? value / static_cast<double>(cells) : value;
}

// --- One node --------------------------------------------------------------------------------

static std::span<const HostTable *const> hostTables() {
  static const HostTable *const tables[] = {&movementFunctions(), &creationFunctions(),
                                            &numericFunctions(),  &linearAlgebra(),
                                            &orderStatistics(),   &systemFunctions()};
  return tables;
}

bool executes(const std::string &function) {
  for (const HostTable *table : hostTables())
    if (table->contains(function))
      return true;
  return false;
}

static Value callFunction(const Node &node, std::vector<Value> operands, HostContext &context) {
  for (const HostTable *table : hostTables()) {
    auto found = table->find(node.name);
    if (found == table->end())
      continue;
    HostCall call{node, std::move(operands), context};
    return found->second(call);
  }
  throw InternalError("no function '" + node.name + "'");
}

static Value evaluateOperation(const Node &node, std::span<const int64_t> symbols,
                               std::vector<Value> &operands, HostContext &context) {
  switch (node.op) {
  case Op::Input:
    throw InternalError("a variable is no operation");
  case Op::Literal:
    return Value::of(node.literal);
  case Op::SizeValue:
    return node.known.value.evaluate(symbols);
  case Op::Cell:
    return applyCells(node.cell, operands);
  case Op::MatMul:
    return product(operands[0].expectMatrix("%*%"), node.transposeLeft,
                   operands[1].expectMatrix("%*%"), node.transposeRight);
  case Op::Transpose:
    return transposed(operands[0].expectMatrix("t"));
  case Op::Aggregate:
    return aggregate(node.aggregate, node.extent,
                     operands[0].expectMatrix(operationName(node).c_str()));
  case Op::Fill:
    return filled(operands[0].number("matrix"), operands[1].truncated("matrix"),
                  operands[2].truncated("matrix"));
  case Op::Bind:
    return bound(node.columns, operands);
  case Op::ToScalar:
    return operands[0].number("as.scalar");
  case Op::Values:
    return sparseOf(*operands[0].matrix())
        .valuesArray()
        .reshaped({sparseOf(*operands[0].matrix()).nonzeros(), 1});
  case Op::WithValues:
    return operands[0]
        .sparse()
        ->withValues(operands[1].dense("values").reshaped({operands[0].sparse()->nonzeros()}))
        .withoutZeros();
  case Op::SampledProduct:
    return sparse::sampledProduct(*operands[0].sparse(), operands[1].dense("%*%"),
                                  operands[2].dense("%*%"))
        .valuesArray()
        .reshaped({operands[0].sparse()->nonzeros(), 1});
  case Op::Sample:
    return sampled(*operands[0].sparse(), operands[1].expectMatrix("*"));
  case Op::ZerosKept:
    return whereZerosStay(node, symbols, operands, context);
  case Op::Function:
    return callFunction(node, std::move(operands), context);
  }
  throw InternalError("an operation without a meaning");
}

Value evaluate(const Node &node, std::span<const int64_t> symbols, std::vector<Value> operands,
               HostContext &context) {
  try {
    return evaluateOperation(node, symbols, operands, context);
  } catch (const Error &error) {
    fail(node.place, error.what(), error.kind());
  }
}

} // namespace headrace::script
