#include "script/plan/Cost.h"

#include "analysis/cost/CostModel.h"
#include "analysis/cost/RatesFile.h"
#include "runtime/library/OpenBlas.h"

#include <algorithm>

namespace headrace::script {

static double cells(const Known &known, std::span<const int64_t> symbols) {
  if (!known.type.isMatrix() || !known.sizesKnown())
    return 1;
  return static_cast<double>(known.rows.evaluate(symbols)) *
         static_cast<double>(known.cols.evaluate(symbols));
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
    double each = describe(node.cell).cost *
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

double hostNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  static const std::unique_ptr<const CostModel> model = makeRooflineModel(hostRates());
  return 1e3 * model->microseconds(hostWork(dag, node, symbols));
}

} // namespace headrace::script
