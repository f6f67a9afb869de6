#include "script/host/HostOperations.h"

#include "runtime/operators/TensorParts.h"
#include "runtime/sparse/Products.h"
#include "runtime/sparse/Structure.h"
#include "runtime/system/AvailableMemory.h"

#include "script/host/HostCells.h"
#include "script/host/HostFunctions.h"
#include "script/host/ZeroCells.h"
#include "script/language/Builtins.h"
#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::script {

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

/// Rows and columns of the parts next to or below one another.
static MatrixSize boundSize(bool columns, std::span<const Value> parts, const char *what) {
  MatrixSize size{0, 0};
  for (const Value &part : parts) {
    const Matrix &matrix = part.expectMatrix(what);
    int64_t across = columns ? rowsOf(matrix) : colsOf(matrix);
    int64_t &common = columns ? size.rows : size.cols;
    if (&part != &parts.front() && across != common)
      throw Error(ErrorKind::ShapeMismatch,
                  std::string(what) + " of matrices of " + std::to_string(common) + " and " +
                      std::to_string(across) + (columns ? " rows" : " columns"));
    common = across;
    (columns ? size.cols : size.rows) += columns ? colsOf(matrix) : rowsOf(matrix);
  }
  return size;
}

static bool isBoundSparse(MatrixSize size, std::span<const Value> parts) {
  if (std::ranges::none_of(parts, [](const Value &part) { return part.sparse(); }))
    return false;
  int64_t nonzeros = 0;
  for (const Value &part : parts)
    nonzeros += nonzerosOf(*part.matrix());
  return preferSparse(size.rows, size.cols, nonzeros);
}

Matrix bound(bool columns, std::span<const Value> parts, const char *what) {
  MatrixSize size = boundSize(columns, parts, what);
  if (isBoundSparse(size, parts)) {
    std::vector<CsrMatrix> sparse;
    for (const Value &part : parts)
      sparse.push_back(sparseOf(*part.matrix()));
    return columns ? sparse::bindColumns(sparse) : sparse::bindRows(sparse);
  }
  std::vector<RuntimeValue> dense;
  for (const Value &part : parts)
    dense.emplace_back(part.dense(what));
  return madeMatrix(size.rows, size.cols,
                    [&] { return *operators::concatenate(dense, columns ? 1 : 0)->tensor(); });
}

Matrix rowsBetween(const Matrix &matrix, int64_t begin, int64_t end) {
  if (auto *sparse = std::get_if<CsrMatrix>(&matrix))
    return sparse::slice(*sparse, {begin, end}, {0, sparse->cols()});
  const Tensor &dense = std::get<Tensor>(matrix);
  int64_t cols = dense.shape()[1];
  Tensor result = newMatrix(end - begin, cols);
  std::copy_n(dense.as<double>() + begin * cols, (end - begin) * cols, result.as<double>());
  return result;
}

/// A sparse matrix of the pattern's size at the pattern's stored cells.
static Tensor sampledSparse(const CsrMatrix &pattern, const CsrMatrix &x) {
  Tensor result = newMatrix(pattern.nonzeros(), 1);
  double *out = result.as<double>();
  ThreadPool::global().parallelFor(pattern.rows(), 256, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row) {
      auto columns = x.columnsOf(row);
      auto values = x.valuesOf(row);
      size_t next = 0; // both have their columns in order
      for (int64_t at = pattern.offsets()[row]; at < pattern.offsets()[row + 1]; ++at) {
        while (next < columns.size() && columns[next] < pattern.columns()[at])
          ++next;
        bool stored = next < columns.size() && columns[next] == pattern.columns()[at];
        out[at] = stored ? values[next] : 0;
      }
    }
  });
  return result;
}

Tensor sampled(const CsrMatrix &pattern, const Matrix &x) {
  auto *sparse = std::get_if<CsrMatrix>(&x);
  if (sparse && sparse->rows() == pattern.rows() && sparse->cols() == pattern.cols())
    return sampledSparse(pattern, *sparse);
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

// --- One node --------------------------------------------------------------------------------

size_t HostCall::parameter(std::string_view argument) const {
  std::string_view name = node.name;
  if (name.starts_with("frame."))
    name.remove_prefix(std::string_view("frame.").size());
  const Builtin *builtin = findBuiltin(name);
  for (size_t i = 0; builtin && i < builtin->parameters.size(); ++i)
    if (builtin->parameters[i].name == argument)
      return i;
  throw InternalError("'" + node.name + "' has no parameter '" + std::string(argument) + "'");
}

static std::span<const HostTable *const> hostTables() {
  static const HostTable *const tables[] = {
      &movementFunctions(),  &creationFunctions(), &randomFunctions(),     &numericFunctions(),
      &shiftedProducts(),    &groupFunctions(),    &statisticsFunctions(), &linearAlgebra(),
      &orderStatistics(),    &listFunctions(),     &systemFunctions(),     &dynamicFunctions(),
      &convolutions(),       &neuralFunctions(),   &frameFunctions(),      &schemaFunctions(),
      &transformFunctions(), &tokenFunctions(),    &recurrentLayers(),     &fourierTransforms(),
      &labelledProducts()};
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
    throw InternalError("a variable is not an operation");
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
    return bound(node.columns, operands, node.name.c_str());
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
  } catch (const OutOfMemory &error) {
    fail(node.place, operationName(node) + ": " + error.need(), error.kind());
  } catch (const std::bad_alloc &) {
    fail(node.place, operationName(node) + ": there is not enough memory",
         ErrorKind::InvalidArgument);
  } catch (const Error &error) {
    fail(node.place, error.what(), error.kind());
  }
}

} // namespace headrace::script
