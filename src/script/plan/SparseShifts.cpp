// A sparse matrix from which a scalar, a row or a column is subtracted, X - colMeans(X), without
// making it dense.
#include "script/plan/SparseRewriter.h"
#include <algorithm>

namespace headrace::script {

std::optional<Shifted> SparseRewriter::shifted(int id) const {
  const Node &node = from.nodes[id];
  bool shifts = node.cell == CellFunction::Subtract || node.cell == CellFunction::Add;
  if (node.op != Op::Cell || !shifts || !from.nodes[node.inputs[0]].known.sparse)
    return std::nullopt;
  const Node &x = from.nodes[node.inputs[0]], &v = from.nodes[node.inputs[1]];
  if (!hasSizeOf(id, x) || v.known.sparse)
    return std::nullopt;
  Shifted result{node.inputs[0], node.inputs[1], Extent::All};
  if (v.isScalar())
    return result;
  bool row = v.known.rows.isConstant(1), column = v.known.cols.isConstant(1);
  if (!v.isMatrix() || row == column)
    return std::nullopt;
  result.extent = row ? Extent::EachColumn : Extent::EachRow;
  return result;
}

bool SparseRewriter::isSumOfSquaredDeviations(int id) const {
  if (id < 0 || from.nodes[id].op != Op::Aggregate ||
      from.nodes[id].aggregate != AggregateKind::Sum)
    return false;
  const Node &sum = from.nodes[id], &square = from.nodes[sum.inputs[0]];
  if (square.op != Op::Cell || square.cell != CellFunction::Power ||
      literalNumber(from.nodes[square.inputs[1]]) != std::optional(2.0))
    return false;
  auto parts = shifted(square.inputs[0]);
  return parts && from.nodes[square.inputs[0]].cell == CellFunction::Subtract &&
         (sum.extent == Extent::All || sum.extent == parts->extent);
}

/// Whether all that reads X - v does without its cells: products, sums and sums of squares.
bool SparseRewriter::needsNoCells(int id) const {
  return std::ranges::all_of(readers[id], [&](int reader) {
    if (reader < 0)
      return false;
    const Node &node = from.nodes[reader];
    if (node.op == Op::MatMul || (node.op == Op::Aggregate && node.aggregate == AggregateKind::Sum))
      return true;
    return !readers[reader].empty() && std::ranges::all_of(readers[reader], [&](int sum) {
      return isSumOfSquaredDeviations(sum);
    });
  });
}

/// colSums((X - v)^2)  ->  squaredDeviations(X, v)    for a row v; likewise rowSums with a column,
/// and sum with any. Those of cells that are not stored are all alike. Else -1.
int SparseRewriter::sumOfSquaredDeviations(int id) {
  if (!isSumOfSquaredDeviations(id))
    return -1;
  const Node &node = from.nodes[id];
  auto parts = shifted(from.nodes[node.inputs[0]].inputs[0]);
  Node sums{Op::Function, {rewritten[parts->x], rewritten[parts->v]}};
  sums.name = "squaredDeviations";
  sums.extent = parts->extent;
  sums.place = node.place;
  sums.known = node.known;
  if (node.extent == parts->extent)
    return copy(std::move(sums));
  sums.known = from.nodes[parts->v].known;
  sums.known.density = 1;
  sums.known.value = {};
  Node all{Op::Aggregate, {copy(std::move(sums))}};
  all.known = node.known;
  all.place = node.place;
  return copy(std::move(all));
}

/// rowSums(X - v)  ->  rowSums(X) - sum(v)    for a row v, - ncol(X) * v for a column or a scalar;
/// likewise colSums and sum, and with +. Else -1.
int SparseRewriter::sumOfShifted(int id) {
  const Node &node = from.nodes[id];
  if (node.op != Op::Aggregate || node.aggregate != AggregateKind::Sum)
    return -1;
  auto parts = shifted(node.inputs[0]);
  if (!parts)
    return -1;
  const Known &known = from.nodes[parts->x].known;
  // The sum of no cells is 0, whatever v is.
  if (!known.sizesKnown() || known.rows.isConstant(0) || known.cols.isConstant(0))
    return -1;
  auto cell = [&](CellFunction function, int left, int right, const Known &result) {
    Node made{Op::Cell, {left, right}};
    made.cell = function;
    made.known.type = result.type;
    made.known.rows = result.rows;
    made.known.cols = result.cols;
    made.place = node.place;
    return copy(std::move(made));
  };
  int x = rewritten[parts->x], added = rewritten[parts->v];
  bool addsRows = node.extent != Extent::EachColumn, addsColumns = node.extent != Extent::EachRow;
  Known scalar;
  scalar.type = Type::scalar(ValueType::Double);
  bool single = from.nodes[parts->v].isScalar();
  // A repeated shift is counted; a shift that varies in the direction of the sum is added up.
  if ((parts->extent == Extent::EachColumn && addsRows) ||
      (parts->extent == Extent::EachRow && addsColumns)) {
    Node sum{Op::Aggregate, {added}};
    sum.known = scalar;
    sum.place = node.place;
    added = copy(std::move(sum));
    single = true;
  }
  if (addsRows && parts->extent != Extent::EachColumn)
    added = cell(CellFunction::Multiply, added, size(known.cols, x), single ? scalar : node.known);
  if (addsColumns && parts->extent != Extent::EachRow)
    added = cell(CellFunction::Multiply, added, size(known.rows, x), single ? scalar : node.known);
  Node sum{Op::Aggregate, {x}};
  sum.extent = node.extent;
  sum.known = node.known;
  sum.place = node.place;
  int base = copy(std::move(sum));
  return cell(from.nodes[node.inputs[0]].cell, base, added, node.known);
}

/// (X - v) %*% B  ->  shiftedProduct(X, v, B)    if nothing needs the cells of X - v, and the same
/// for A %*% (X - v) and transposes; else -1
int SparseRewriter::productOfShifted(int id) {
  const Node &node = from.nodes[id];
  if (node.op != Op::MatMul)
    return -1;
  for (bool right : {false, true}) {
    int cells = node.inputs[right], other = node.inputs[!right];
    auto parts = shifted(cells);
    if (!parts || !needsNoCells(cells) || shifted(other))
      continue;
    Node product = node;
    product.op = Op::Function;
    product.name = "shiftedProduct";
    product.inputs = {rewritten[parts->x], rewritten[parts->v], rewritten[other]};
    product.cell = from.nodes[cells].cell;
    product.columns = right;
    return copy(std::move(product));
  }
  return -1;
}

} // namespace headrace::script
