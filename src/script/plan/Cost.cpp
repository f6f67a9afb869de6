#include "script/plan/Cost.h"

#include "runtime/library/OpenBlas.h"

namespace headrace::script {

static double cells(const Known &known, std::span<const int64_t> symbols) {
  if (!known.type.isMatrix() || !known.sizesKnown())
    return 1;
  return static_cast<double>(known.rows.evaluate(symbols)) *
         static_cast<double>(known.cols.evaluate(symbols));
}

double hostNanoseconds(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  auto operand = [&](int i) -> const Known & { return dag.nodes[node.inputs[i]].known; };
  double result = cells(node.known, symbols);
  switch (node.op) {
  case Op::Cell:
    // Memory moves for two cells or so besides the function.
    return result * (0.5 + describe(node.cell).cost);
  case Op::MatMul: {
    const Size &inner = node.transposeLeft ? operand(0).rows : operand(0).cols;
    double terms = result * (inner.known() ? static_cast<double>(inner.evaluate(symbols)) : 1);
    // A product with a vector takes as long as reading the matrix.
    return openBlas()
               ? terms * 0.03 + (cells(operand(0), symbols) + cells(operand(1), symbols)) * 0.5
               : terms * 0.5;
  }
  case Op::Aggregate:
    return cells(operand(0), symbols);
  case Op::Transpose:
  case Op::Bind:
    return result * 2;
  case Op::Fill:
    return result * 0.5;
  default:
    return 0;
  }
}

} // namespace headrace::script
