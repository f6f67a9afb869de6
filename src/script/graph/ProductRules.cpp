// Products written in another order if that takes less work.
#include "script/graph/GraphWriter.h"
#include <algorithm>

namespace headrace::script {

/// The extents of the operand or its transpose; nothing if a size is not known.
std::optional<Extents> GraphWriter::extentsOf(int x, bool transposed) const {
  const Known &known = at(x).known;
  if (!inRun() || !known.sizesKnown())
    return std::nullopt;
  auto rows = static_cast<double>(known.rows.evaluate(*options.symbols));
  auto cols = static_cast<double>(known.cols.evaluate(*options.symbols));
  return transposed ? Extents{cols, rows} : Extents{rows, cols};
}

/// Whether it has the same value in every iteration: it is computed once then.
bool GraphWriter::isInvariant(int x) const {
  if (options.invariant.empty())
    return false;
  if (invariantNodes.size() < dag.nodes.size())
    invariantNodes.resize(dag.nodes.size());
  if (!invariantNodes[x]) {
    const Node &node = at(x);
    auto invariant = [&](int input) { return input < 0 || isInvariant(input); };
    invariantNodes[x] = node.op == Op::Input
                            ? options.invariant.contains(node.name)
                            : !node.ordered && std::ranges::all_of(node.inputs, invariant);
  }
  return *invariantNodes[x];
}

/// (-A) %*% B  ->  -(A %*% B)    if that is not larger than A, and the same for B; else -1
int GraphWriter::negatedProduct(int left, int right) {
  auto isNegative = [&](int x) {
    return at(x).op == Op::Cell && at(x).cell == CellFunction::Negate && at(x).isMatrix();
  };
  auto a = extentsOf(left, false), b = extentsOf(right, false);
  if (!a || !b)
    return -1;
  if (isNegative(left) && b->cols <= a->cols)
    return cell(CellFunction::Negate, {matmul(at(left).inputs[0], right)});
  if (isNegative(right) && a->rows <= b->rows)
    return cell(CellFunction::Negate, {matmul(left, at(right).inputs[0])});
  return -1;
}

/// (A %*% B) %*% C  ->  A %*% (B %*% C)    and back, if that takes fewer multiplications;
/// else -1. The product that is not needed any more is not computed. One that a loop computes once
/// takes none, unless it is larger than its operands or takes more than many iterations do.
int GraphWriter::reassociatedProduct(int left, int right) {
  constexpr double kIterations = 8;
  auto operand = [&](int product, size_t which) {
    bool transposed = which == 0 ? at(product).transposeLeft : at(product).transposeRight;
    int input = at(product).inputs[which];
    return std::pair(input, transposed);
  };
  auto write = [&](std::pair<int, bool> part) {
    return part.second ? transpose(part.first) : part.first;
  };
  auto density = [&](int x) { return at(x).known.density.value_or(1); };
  auto isOnce = [&](int x, int y, const Extents &a, const Extents &b) {
    return a.rows * b.cols <= a.rows * a.cols + b.rows * b.cols && isInvariant(x) && isInvariant(y);
  };
  auto pays = [&](double first, double second, bool firstOnce, double inner, double outer,
                  bool innerOnce) {
    double now = first + second, then = inner + outer;
    if (firstOnce && first <= kIterations * then)
      now = second;
    if (innerOnce && inner <= kIterations * (first + second))
      then = outer;
    return then < now / 2;
  };
  if (at(left).op == Op::MatMul) {
    auto a = operand(left, 0), b = operand(left, 1);
    auto ofA = extentsOf(a.first, a.second), ofB = extentsOf(b.first, b.second);
    auto ofC = extentsOf(right, false);
    if (!ofA || !ofB || !ofC)
      return -1;
    double first = ofA->rows * ofA->cols * ofB->cols * density(a.first) * density(b.first);
    double second = ofA->rows * ofB->cols * ofC->cols * density(left) * density(right);
    double inner = ofB->rows * ofB->cols * ofC->cols * density(b.first) * density(right);
    double outer = ofA->rows * ofA->cols * ofC->cols * density(a.first);
    if (pays(first, second, isOnce(a.first, b.first, *ofA, *ofB), inner, outer,
             isOnce(b.first, right, *ofB, *ofC)))
      return matmul(write(a), matmul(write(b), right));
  }
  if (at(right).op == Op::MatMul) {
    auto b = operand(right, 0), c = operand(right, 1);
    auto ofA = extentsOf(left, false);
    auto ofB = extentsOf(b.first, b.second), ofC = extentsOf(c.first, c.second);
    if (!ofA || !ofB || !ofC)
      return -1;
    double first = ofB->rows * ofB->cols * ofC->cols * density(b.first) * density(c.first);
    double second = ofA->rows * ofA->cols * ofC->cols * density(left) * density(right);
    double inner = ofA->rows * ofA->cols * ofB->cols * density(left) * density(b.first);
    double outer = ofA->rows * ofB->cols * ofC->cols * density(c.first);
    if (pays(first, second, isOnce(b.first, c.first, *ofB, *ofC), inner, outer,
             isOnce(left, b.first, *ofA, *ofB)))
      return matmul(matmul(left, write(b)), write(c));
  }
  return -1;
}

/// sum(A %*% B)  ->  colSums(A) %*% rowSums(B), rowSums(A %*% B)  ->  A %*% rowSums(B),
/// colSums(A %*% B)  ->  colSums(A) %*% B    or -1
int GraphWriter::sumOfProduct(int product, Extent extent) {
  const Node node = at(product);
  auto size = extentsOf(product, false);
  if (node.op != Op::MatMul || !size)
    return -1;
  bool sumsRows = extent != Extent::EachColumn && size->cols > 1;
  bool sumsColumns = extent != Extent::EachRow && size->rows > 1;
  if (!sumsRows && !sumsColumns)
    return -1;
  auto operand = [&](size_t which) {
    bool transposed = which == 0 ? node.transposeLeft : node.transposeRight;
    return transposed ? transpose(node.inputs[which]) : node.inputs[which];
  };
  int left = operand(0), right = operand(1);
  if (extent != Extent::EachRow)
    left = aggregate(AggregateKind::Sum, Extent::EachColumn, left);
  if (extent != Extent::EachColumn)
    right = aggregate(AggregateKind::Sum, Extent::EachRow, right);
  int sums = matmul(left, right);
  return extent == Extent::All ? toScalar(sums) : sums;
}

/// sum(A %*% B - C)  ->  sum(A %*% B) - sum(C), and the same for +; or -1
int GraphWriter::sumWithProduct(int x) {
  const Node node = at(x);
  bool adds = node.cell == CellFunction::Add || node.cell == CellFunction::Subtract;
  if (node.op != Op::Cell || !adds || node.inputs.size() != 2)
    return -1;
  auto size = extentsOf(x, false);
  bool any = false;
  for (int input : node.inputs) {
    auto own = extentsOf(input, false);
    if (!size || !own || !at(input).isMatrix() || own->rows != size->rows ||
        own->cols != size->cols || std::min(size->rows, size->cols) <= 1)
      return -1;
    any |= at(input).op == Op::MatMul;
  }
  if (!any)
    return -1;
  return cell(node.cell, {aggregate(AggregateKind::Sum, Extent::All, node.inputs[0]),
                          aggregate(AggregateKind::Sum, Extent::All, node.inputs[1])});
}

/// trace(A %*% B)  ->  sum(A * t(B))    or -1
int GraphWriter::traceOfProduct(int product) {
  const Node node = at(product);
  auto size = extentsOf(product, false);
  if (node.op != Op::MatMul || !size || size->rows != size->cols || size->rows <= 1)
    return -1;
  // The sum is the same if both factors are transposed.
  bool turned = node.transposeLeft == node.transposeRight;
  int right = turned ? transpose(node.inputs[1]) : node.inputs[1];
  return aggregate(AggregateKind::Sum, Extent::All,
                   cell(CellFunction::Multiply, {node.inputs[0], right}));
}

/// Aggregates of t(X) are those of X, along the other extent; or -1.
int GraphWriter::aggregateOfTranspose(AggregateKind kind, Extent extent, int x) {
  if (at(x).op != Op::Transpose)
    return -1;
  int operand = at(x).inputs[0];
  if (extent == Extent::All)
    return aggregate(kind, extent, operand);
  bool rows = extent == Extent::EachRow;
  return transpose(aggregate(kind, rows ? Extent::EachColumn : Extent::EachRow, operand));
}

} // namespace headrace::script
