#include "script/plan/Cost.h"

#include "analysis/cost/CostModel.h"
#include "analysis/cost/RatesFile.h"
#include "runtime/library/OpenBlas.h"
#include "runtime/sparse/CsrMatrix.h"

#include <algorithm>
#include <set>

namespace headrace::script {

static double cells(const Known &known, std::span<const int64_t> symbols) {
  if (!known.type.isMatrix() || !known.sizesKnown())
    return 1;
  return static_cast<double>(known.rows.evaluate(symbols)) *
         static_cast<double>(known.cols.evaluate(symbols));
}

/// The cells of a dense matrix, or about how many a sparse one stores.
static double storedCells(const Known &known, std::span<const int64_t> symbols) {
  if (!known.sparse)
    return cells(known, symbols);
  if (known.nonzeros.known())
    return static_cast<double>(known.nonzeros.evaluate(symbols));
  return cells(known, symbols) * known.density.value_or(sparseDensity);
}

/// Nanoseconds per cell outside vectors.
static double cellCost(const Dag &dag, const Node &node) {
  bool square = node.cell == CellFunction::Power &&
                literalNumber(dag.nodes[node.inputs[1]]) == std::optional(2.0);
  return describe(square ? CellFunction::Multiply : node.cell).cost;
}

/// Numbers that are read or written, among those of the node.
static void move(Work &work, double numbers) {
  double bytes = numbers * static_cast<double>(sizeOf(DType::F64));
  work.move(bytes, bytes);
}

static void compute(Work &work, OperationKind kind, double operations) {
  work.arithmetic.push_back({kind, DType::F64, operations});
}

static Work hostWork(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  auto operand = [&](int i) -> const Known & { return dag.nodes[node.inputs[i]].known; };
  double result = cells(node.known, symbols);
  Work work;
  work.kernelCalls = 0;
  switch (node.op) {
  case Op::Cell: {
    move(work, result * static_cast<double>(1 + node.inputs.size()));
    // Functions are called cell by cell; their table has nanoseconds, which are operations here.
    double each = cellCost(dag, node) *
                  hostRates().operationsPerMicrosecond(OperationKind::Scalar, DType::F64) / 1e3;
    compute(work, OperationKind::Scalar, result * each);
    return work;
  }
  case Op::MatMul: {
    const Size &inner = node.transposeLeft ? operand(0).rows : operand(0).cols;
    double depth = inner.known() ? static_cast<double>(inner.evaluate(symbols)) : 1;
    compute(work, openBlas() ? OperationKind::Product : OperationKind::Scalar, 2 * result * depth);
    if (openBlas()) {
      auto rows = std::max(1.0, cells(operand(0), symbols) / std::max(depth, 1.0));
      auto columns = std::max(1.0, cells(operand(1), symbols) / std::max(depth, 1.0));
      work.libraryCalls = 1;
      work.librarySide = std::min({rows, columns, std::max(depth, 1.0)});
    }
    move(work, cells(operand(0), symbols) + cells(operand(1), symbols) + result);
    return work;
  }
  case Op::Aggregate:
    move(work, cells(operand(0), symbols));
    compute(work, OperationKind::Scalar, cells(operand(0), symbols));
    return work;
  case Op::Transpose:
  case Op::Bind:
    move(work, 2 * result);
    compute(work, OperationKind::Scalar, result);
    return work;
  case Op::Fill:
    move(work, result);
    return work;
  default:
    return work;
  }
}

/// Functions of whole matrices: about ten nanoseconds per cell that they read or write, and the
/// arithmetic of factorizations.
static Work functionWork(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  static const std::set<std::string_view> factorizations = {"solve", "inv", "det",   "cholesky",
                                                            "lu",    "qr",  "eigen", "svd"};
  constexpr double kPerCell = 10;
  double all = node.isMatrix() ? storedCells(node.known, symbols) : 0;
  for (int input : node.inputs)
    if (input >= 0 && dag.nodes[input].isMatrix())
      all += storedCells(dag.nodes[input].known, symbols);
  Work work;
  work.kernelCalls = 0;
  compute(work, OperationKind::Scalar,
          all * kPerCell * hostRates().operationsPerMicrosecond(OperationKind::Scalar, DType::F64) /
              1e3);
  if (factorizations.contains(node.name) && !node.inputs.empty()) {
    const Known &matrix = dag.nodes[node.inputs[0]].known;
    double side = matrix.cols.known() ? static_cast<double>(matrix.cols.evaluate(symbols)) : 1;
    compute(work, OperationKind::Product, cells(matrix, symbols) * side);
  }
  return work;
}

static const CostModel &costModel() {
  static const std::unique_ptr<const CostModel> model = makeRooflineModel(hostRates());
  return *model;
}

double bytesOf(const Known &known, std::span<const int64_t> symbols) {
  return storedCells(known, symbols) * static_cast<double>(sizeOf(DType::F64)) *
         (known.sparse ? 1.5 : 1); // and the columns
}

double readNanoseconds(double bytes) {
  Work work;
  work.kernelCalls = 0;
  work.move(bytes, bytes);
  return 1e3 * costModel().microseconds(work);
}

double recomputationNanoseconds(const Dag &dag, const Node &node,
                                std::span<const int64_t> symbols) {
  switch (node.op) {
  case Op::Cell: {
    // Simple functions take less time than their operands take to arrive.
    constexpr double kSimple = 1.5;
    double each = cellCost(dag, node);
    return node.isMatrix() && each > kSimple ? storedCells(node.known, symbols) * each : 0;
  }
  case Op::MatMul: {
    auto share = [&](int i) {
      const Known &known = dag.nodes[node.inputs[i]].known;
      return storedCells(known, symbols) / std::max(cells(known, symbols), 1.0);
    };
    return hostNanoseconds(dag, node, symbols) * share(0) * share(1);
  }
  case Op::Aggregate:
    return readNanoseconds(bytesOf(dag.nodes[node.inputs[0]].known, symbols));
  case Op::Transpose:
  case Op::Bind:
    return readNanoseconds(2 * bytesOf(node.known, symbols));
  case Op::Function:
    return 1e3 * costModel().microseconds(functionWork(dag, node, symbols));
  default:
    return 0;
  }
}

double hostNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  return 1e3 * costModel().microseconds(hostWork(dag, node, symbols));
}

} // namespace headrace::script
