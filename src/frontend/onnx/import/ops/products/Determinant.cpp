// Determinants, by elimination with pivots: a recurrence over the columns.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/Recurrence.h"

using namespace mlir;

namespace headrace::onnx {

namespace {

/// One column is eliminated in each step. The state has a further row, which holds the product of
/// the pivots so far.
class Elimination {
public:
  Elimination(NodeContext &c, AffineExpr batch, AffineExpr size) : c(c), batch(batch), size(size) {}

  Value next(const RecurrenceStep &step) {
    Value column = step.now[0];
    Value pivot = pivotRow(step.state, column);
    AffineExpr b = getAffineDimExpr(0, c.context);
    Compute compute{{batch, size + 1, size}, 0, {}, {{column, {}}, {pivot, {b}}}, {step.state}};
    return writeCompute(c, compute, [&](PointMath &m) {
      Value k = m.read(0), p = m.read(1), row = m.position(1), here = m.position(2);
      auto at = [&](Value i, Value j) { return m.element(0, {m.position(0), i, j}); };
      Value chosen = at(p, k), isSwapped = m.compare(ScalarMath::Compare::NotEqual, p, k);
      Value sign = m.select(isSwapped, m.number(chosen, -1), m.number(chosen, 1));
      Value product = m.mul(m.mul(at(row, here), sign), chosen);
      // The row that the pivot's came from.
      Value source = m.select(m.equal(row, k), p, m.select(m.equal(row, p), k, row));
      Value isZero = m.equal(chosen, m.number(chosen, 0));
      Value factor = m.div(at(source, k), m.select(isZero, m.number(chosen, 1), chosen));
      Value rest = m.sub(at(source, here), m.mul(factor, at(p, here)));
      Value below = m.select(m.less(k, row), rest, at(source, here));
      return m.select(m.equal(row, m.size(size)), product, below);
    });
  }

private:
  /// The row with the largest element of the column, from the diagonal on.
  Value pivotRow(Value state, Value column) {
    SmallVector<AffineExpr> d = dimensions(c, 0, 2);
    Compute largest{{batch, size}, 1, hr::ReduceKind::Max, {{column, {}}}, {state}};
    auto candidate = [&](PointMath &m) {
      return m.abs(m.element(0, {m.position(0), m.position(1), m.read(0)}));
    };
    auto isBelow = [](PointMath &m) {
      return m.compare(ScalarMath::Compare::GreaterOrEqual, m.position(1), m.read(0));
    };
    Value maximum = writeCompute(c, largest, [&](PointMath &m) {
      Value element = candidate(m);
      return m.select(isBelow(m), element, m.number(element, -1));
    });
    Compute place{
        {batch, size}, 1, hr::ReduceKind::Min, {{column, {}}, {maximum, {d[0]}}}, {state}};
    return writeCompute(c, place, [&](PointMath &m) {
      Value element = candidate(m);
      Value isHere = m.either(m.equal(element, m.read(1)), m.isNaN(element));
      return m.select(m.both(isBelow(m), isHere), m.position(1), m.size(size));
    });
  }

  NodeContext &c;
  AffineExpr batch, size;
};

} // namespace

static void importDet(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  SymbolicShape shape = c.shape(0);
  if (shape.size() < 2 || !sameSize(shape.back(), shape[shape.size() - 2]))
    c.fail(ErrorKind::ShapeMismatch, "{0}: expected square matrices, got {1}", c.nameOfInput(0),
           c.text(shape));
  AffineExpr size = shape.back(), one = c.dim(1);
  SymbolicShape leading(ArrayRef<AffineExpr>(shape).drop_back(2));
  AffineExpr batch = c.product(leading);
  Type type = c.type(0).getElementType(), wide = type.isF64() ? type : c.builder.getF32Type();
  if (constantValue(size) == 0)
    return c.result(c.broadcast(c.scalar(1, type), leading));
  c.requireNonNegative(size - 1, "size less 1");
  Value rows = c.reshape(c.cast(input, wide), {batch, size, size});
  Value product = c.broadcast(c.scalar(1, wide), {batch, one, size});
  Value initial = c.infer<hr::ConcatOp>(ValueRange{rows, product}, 1);
  Value columns =
      writeCompute(c, {{size}, 0, {}, {}, {}}, [](PointMath &m) { return m.position(0); });
  Elimination elimination(c, batch, size);
  Value states = writeRecurrence(
      c, columns, initial, {}, [&](const RecurrenceStep &step) { return elimination.next(step); });
  Value last = c.slice(states, {size - 1, c.dim(0), size, c.dim(0)}, {one, batch, one, one},
                       SmallVector<int64_t>(4, 1));
  c.result(c.cast(c.reshape(last, leading), type));
}

OperatorFamily determinantOperators() {
  static const Operator table[] = {{"Det", 11, importDet}};
  return table;
}

} // namespace headrace::onnx
