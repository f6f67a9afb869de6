// Which values of a graph are kept sparse.
#include "runtime/sparse/CsrMatrix.h"

#include "script/plan/SparsePlan.h"
#include <set>

namespace headrace::script {

static bool keepsZero(const Dag &dag, const Node &node) {
  using enum CellFunction;
  if (node.inputs.size() == 1)
    return apply(node.cell, 0) == 0;
  const Node &left = dag.nodes[node.inputs[0]], &right = dag.nodes[node.inputs[1]];
  if (left.isMatrix() && right.isMatrix())
    return false;
  bool leftSparse = left.isMatrix();
  if (auto number = literalNumber(leftSparse ? right : left))
    return (leftSparse ? apply(node.cell, 0, *number) : apply(node.cell, *number, 0)) == 0;
  // Scalars that are neither NaN, infinite nor 0, as they nearly always are; see ZerosKept.
  return node.cell == Multiply || (node.cell == Divide && leftSparse) || node.cell == And;
}

/// Matrices next to or below one another, some of them sparse: by their shares of nonzeros, if
/// sizes are known.
static bool isBoundSparse(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  double cells = 0, nonzeros = 0;
  bool allSparse = true, anySparse = false, counted = true;
  auto number = [&](const Size &size) {
    counted &= size.known() && (size.constant() || !symbols.empty());
    return counted ? static_cast<double>(size.evaluate(symbols)) : 0;
  };
  for (int input : node.inputs) {
    const Known &part = dag.nodes[input].known;
    double ofPart = number(part.rows) * number(part.cols);
    cells += ofPart;
    nonzeros += ofPart * part.density.value_or(part.sparse ? 0 : 1);
    allSparse &= part.sparse;
    anySparse |= part.sparse;
  }
  return allSparse || (anySparse && counted && nonzeros < sparseDensity * cells);
}

/// Functions of a sparse matrix whose result the host keeps in the better format, which is the same
/// except for unusual values.
static bool keepsFormat(const Node &node) {
  static const std::set<std::string_view> names = {"index",  "assignIndex", "rev",      "replace",
                                                   "matrix", "lower.tri",   "upper.tri"};
  return names.contains(node.name) && !node.known.cols.isConstant(1);
}

static bool staysSparse(const Dag &dag, const Node &node, std::span<const int64_t> symbols) {
  using enum CellFunction;
  auto isSparse = [&](int input) { return input >= 0 && dag.nodes[input].known.sparse; };
  switch (node.op) {
  case Op::Cell: {
    if (node.inputs.size() == 3)
      return isSparse(node.inputs[0]) && dag.nodes[node.inputs[2]].known.value.isConstant(0);
    bool first = isSparse(node.inputs[0]);
    bool second = node.inputs.size() > 1 && isSparse(node.inputs[1]);
    if (!first && !second)
      return false;
    if (node.inputs.size() == 1 || !dag.nodes[node.inputs[0]].isMatrix() ||
        !dag.nodes[node.inputs[1]].isMatrix())
      return keepsZero(dag, node);
    if (node.cell == Multiply || node.cell == And || (node.cell == Divide && !second))
      return true;
    return first && second && apply(node.cell, 0, 0) == 0;
  }
  case Op::MatMul:
    return isSparse(node.inputs[0]) && isSparse(node.inputs[1]);
  case Op::Transpose:
    return isSparse(node.inputs[0]);
  case Op::Bind:
    return isBoundSparse(dag, node, symbols);
  case Op::Function:
    if (node.name == "diag") // of a column
      return node.known.formatOpen;
    if (node.name == "rand")
      return node.known.formatOpen && node.known.density.value_or(1) < sparseDensity;
    return isSparse(node.inputs.empty() ? -1 : node.inputs[0]) && keepsFormat(node);
  case Op::WithValues:
    return true;
  default:
    return node.known.sparse;
  }
}

void markSparse(Dag &dag, std::span<const int64_t> symbols) {
  for (Node &node : dag.nodes)
    node.known.sparse = staysSparse(dag, node, symbols);
}

} // namespace headrace::script
