// Sums of functions of a sparse matrix that do not map 0 to 0.
#include "script/plan/SparseRewriter.h"
#include <cmath>

namespace headrace::script {

/// The value of an old expression of one sparse matrix and literals where the matrix is 0.
std::optional<double> SparseRewriter::atZero(int id, int &leaf) const {
  const Node &node = from.nodes[id];
  if (node.isMatrix() && node.known.sparse) {
    bool same = leaf < 0 || leaf == id;
    leaf = id;
    return same ? std::optional(0.0) : std::nullopt;
  }
  if (node.op == Op::Literal)
    return literalNumber(node);
  if (node.op != Op::Cell || node.inputs.size() > 2)
    return std::nullopt;
  double operands[2] = {};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    auto operand = atZero(node.inputs[i], leaf);
    if (!operand)
      return std::nullopt;
    operands[i] = *operand;
  }
  return apply(node.cell, operands[0], operands[1]);
}

/// Such an expression at the pattern's stored cells.
int SparseRewriter::atStoredCells(int id, int leaf, int pattern) {
  if (id == leaf)
    return sample(id, pattern);
  const Node &node = from.nodes[id];
  if (!node.isMatrix())
    return rewritten[id];
  Node cells = node;
  for (int &input : cells.inputs)
    input = atStoredCells(input, leaf, pattern);
  cells.known = storedCells(pattern);
  return copy(std::move(cells));
}

int SparseRewriter::scalarCell(CellFunction function, int left, int right, ValueType type) {
  Node node{Op::Cell, {left, right}};
  node.cell = function;
  node.known.type = Type::scalar(type);
  node.place = nodes[left].place;
  return copy(std::move(node));
}

int SparseRewriter::size(const Size &value, int pattern) {
  Node node{value.constant() ? Op::Literal : Op::SizeValue};
  node.known.type = Type::scalar(ValueType::Integer);
  node.known.value = value;
  node.literal = value.constant().value_or(0);
  node.place = nodes[pattern].place;
  return copy(std::move(node));
}

/// sum(X == 0)  ->  sum(values(X) == 0) + (cells - stored) * (0 == 0), and the same for the sums of
/// rows and columns: cells that are not stored have one value. Else -1.
int SparseRewriter::sumWithOtherCells(int id) {
  const Node &node = from.nodes[id];
  if (node.op != Op::Aggregate || node.aggregate != AggregateKind::Sum)
    return -1;
  int cells = node.inputs[0], leaf = -1;
  if (from.nodes[cells].op != Op::Cell || from.nodes[cells].known.sparse)
    return -1;
  auto other = atZero(cells, leaf);
  if (!other || !std::isfinite(*other) || leaf < 0 || nodes[rewritten[leaf]].op == Op::ZerosKept)
    return -1;
  int pattern = patternIn(nodes, rewritten[leaf]);
  Known known = nodes[pattern].known;
  if (!known.nonzeros.known() || !known.sizesKnown() || !hasSizeOf(cells, nodes[pattern]))
    return -1;
  auto scalar = [&](double value) {
    Node literal{Op::Literal};
    literal.known.type = Type::scalar(ValueType::Double);
    literal.literal = value;
    literal.place = node.place;
    return copy(std::move(literal));
  };
  int stored = atStoredCells(cells, leaf, pattern), otherCell = scalar(*other);
  Node sum = node;
  if (node.extent == Extent::All) {
    sum.inputs = {stored};
    int all = scalarCell(CellFunction::Multiply, size(known.rows, pattern),
                         size(known.cols, pattern), ValueType::Integer);
    int rest =
        scalarCell(CellFunction::Subtract, all, size(known.nonzeros, pattern), ValueType::Integer);
    int added = scalarCell(CellFunction::Multiply, rest, otherCell, ValueType::Double);
    return scalarCell(CellFunction::Add, copy(std::move(sum)), added, ValueType::Double);
  }
  // What stored cells have more than the others, and what all have.
  Node more{Op::Cell, {stored, otherCell}};
  more.cell = CellFunction::Subtract;
  more.known = storedCells(pattern);
  more.place = node.place;
  Node matrix{Op::WithValues, {pattern, copy(std::move(more))}};
  matrix.known = known;
  matrix.known.sparse = true;
  matrix.place = node.place;
  sum.inputs = {copy(std::move(matrix))};
  const Size &count = node.extent == Extent::EachRow ? known.cols : known.rows;
  int added =
      scalarCell(CellFunction::Multiply, size(count, pattern), otherCell, ValueType::Double);
  Node result{Op::Cell, {copy(std::move(sum)), added}};
  result.cell = CellFunction::Add;
  result.known = node.known;
  result.place = node.place;
  return copy(std::move(result));
}

} // namespace headrace::script
