// Products written in another order if that takes less work.
#include "script/graph/GraphWriter.h"

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
/// else -1. The product that is not needed any more is not computed.
int GraphWriter::reassociatedProduct(int left, int right) {
  auto operand = [&](int product, size_t which) {
    bool transposed = which == 0 ? at(product).transposeLeft : at(product).transposeRight;
    int input = at(product).inputs[which];
    return std::pair(input, transposed);
  };
  auto write = [&](std::pair<int, bool> part) {
    return part.second ? transpose(part.first) : part.first;
  };
  auto density = [&](int x) { return at(x).known.density.value_or(1); };
  if (at(left).op == Op::MatMul) {
    auto a = operand(left, 0), b = operand(left, 1);
    auto ofA = extentsOf(a.first, a.second), ofB = extentsOf(b.first, b.second);
    auto ofC = extentsOf(right, false);
    if (!ofA || !ofB || !ofC)
      return -1;
    double first = ofA->rows * ofA->cols * ofB->cols * density(a.first) * density(b.first);
    double now = first + ofA->rows * ofB->cols * ofC->cols * density(left) * density(right);
    double then = ofB->rows * ofB->cols * ofC->cols * density(b.first) * density(right) +
                  ofA->rows * ofA->cols * ofC->cols * density(a.first);
    if (then < now / 2)
      return matmul(write(a), matmul(write(b), right));
  }
  if (at(right).op == Op::MatMul) {
    auto b = operand(right, 0), c = operand(right, 1);
    auto ofA = extentsOf(left, false);
    auto ofB = extentsOf(b.first, b.second), ofC = extentsOf(c.first, c.second);
    if (!ofA || !ofB || !ofC)
      return -1;
    double first = ofB->rows * ofB->cols * ofC->cols * density(b.first) * density(c.first);
    double now = first + ofA->rows * ofA->cols * ofC->cols * density(left) * density(right);
    double then = ofA->rows * ofA->cols * ofB->cols * density(left) * density(b.first) +
                  ofA->rows * ofB->cols * ofC->cols * density(c.first);
    if (then < now / 2)
      return matmul(matmul(left, write(b)), write(c));
  }
  return -1;
}

/// sum(A %*% B)  ->  colSums(A) %*% rowSums(B)    or -1
int GraphWriter::sumOfProduct(int product) {
  const Node node = at(product);
  auto size = extentsOf(product, false);
  if (node.op != Op::MatMul || !size || size->rows * size->cols <= 1)
    return -1;
  auto sums = [&](size_t which, bool transposed) {
    bool eachColumn = (which == 0) != transposed;
    int sum = aggregate(AggregateKind::Sum, eachColumn ? Extent::EachColumn : Extent::EachRow,
                        node.inputs[which]);
    return transposed ? transpose(sum) : sum;
  };
  int left = sums(0, node.transposeLeft);
  return toScalar(matmul(left, sums(1, node.transposeRight)));
}

} // namespace headrace::script
