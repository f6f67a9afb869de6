// Where the largest and smallest elements along an axis are.
#include "frontend/common/Compute.h"
#include "frontend/onnx/import/Operators.h"
#include "frontend/onnx/import/ops/movement/Elements.h"

using namespace mlir;

namespace headrace::onnx {

/// The position of the extremum along an axis, which stays with size 1: the first of equal ones, or
/// the last. NaN counts as the extremum, as it does in reductions.
static Value extremumPosition(OperatorBuilder &b, Value input, int64_t axis, hr::ReduceKind kind,
                              bool takesLast) {
  SymbolicShape domain = shapeOf(input);
  auto rank = static_cast<unsigned>(domain.size());
  AffineExpr size = domain[axis];
  Value extremum = b.reduce(kind, input, axis, /*keepDims=*/true);
  domain[axis] = b.dim(1);
  domain.push_back(size);
  SmallVector<AffineExpr> along = dimensions(b, 0, rank);
  along[axis] = getAffineDimExpr(rank, b.context);
  hr::ReduceKind pick = takesLast ? hr::ReduceKind::Max : hr::ReduceKind::Min;
  Compute compute{domain, 1, pick, {{input, along}, {extremum, dimensions(b, 0, rank)}}, {}};
  return writeCompute(b, compute, [&](PointMath &m) {
    Value isHere = m.either(m.equal(m.read(0), m.read(1)), m.isNaN(m.read(0)));
    int64_t nowhere = takesLast ? -1 : std::numeric_limits<int64_t>::max();
    return m.select(isHere, m.position(rank), m.integer(nowhere));
  });
}

template <hr::ReduceKind kind> static void importArg(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  int64_t axis = c.axis(c.node.getInt("axis", 0), c.rank(0));
  if (constantValue(c.shape(0)[axis]) == 0)
    c.fail(ErrorKind::ShapeMismatch, "expected elements along axis {0}, got {1}", axis,
           c.text(c.shape(0)));
  bool takesLast = c.node.getInt("select_last_index", 0) != 0;
  Value place = extremumPosition(c, input, axis, kind, takesLast);
  if (c.node.getInt("keepdims", 1) == 0) {
    SymbolicShape kept = c.shape(0);
    kept.erase(kept.begin() + axis);
    place = c.reshape(place, kept);
  }
  c.result(place);
}

/// 1 at the first maximum, else 0; before version 13 over all axes from the given one on.
static void importHardmax(NodeContext &c) {
  Value input = c.input(0, Accepts::Floats);
  SymbolicShape shape = c.shape(0);
  int64_t axis = c.axis(c.node.getInt("axis", c.opset < 13 ? 1 : -1), c.rank(0));
  if (c.opset < 13) {
    input = c.reshape(input, {c.product(ArrayRef<AffineExpr>(shape).take_front(axis)),
                              c.product(ArrayRef<AffineExpr>(shape).drop_front(axis))});
    axis = 1;
  }
  Type type = c.type(0).getElementType();
  Value place = extremumPosition(c, input, axis, hr::ReduceKind::Max, /*takesLast=*/false);
  SymbolicShape domain = shapeOf(input);
  SmallVector<AffineExpr> at = dimensions(c, 0, domain.size());
  at[axis] = c.dim(0);
  Value hot = writeCompute(c, {domain, 0, {}, {{place, at}}, {}}, [&](PointMath &m) {
    return m.select(m.equal(m.read(0), m.position(axis)), m.numberOf(type, 1), m.numberOf(type, 0));
  });
  c.result(c.reshape(hot, shape));
}

/// The number of elements was an attribute before version 10.
static void importTopK(NodeContext &c) {
  Value input = c.input(0, Accepts::Numbers);
  SymbolicShape shape = c.shape(0);
  int64_t axis = c.axis(c.node.getInt("axis", -1), c.rank(0));
  AffineExpr count = c.opset < 10 ? c.dim(c.node.getInt("k", 0)) : c.size(1);
  if (c.isNegative(shape[axis] - count))
    c.fail(ErrorKind::ShapeMismatch, "expected at most the {0} elements of axis {1}, asked for {2}",
           c.text({shape[axis]}), axis, c.text({count}));
  if (!sameSize(count, shape[axis]))
    c.requireNonNegative(shape[axis] - count, "size less the number of elements to take");
  shape[axis] = count;
  bool largest = c.node.getInt("largest", 1) != 0;
  RankedTensorType type = c.checkedType(shape, c.builder.getI64Type());
  Value places = c.create<hr::SortOp>(type, input, axis, largest);
  c.result(gatherElements(c, input, places, axis), 0);
  c.result(places, 1);
}

OperatorFamily searchOperators() {
  static const Operator table[] = {
      {"ArgMax", 7, importArg<hr::ReduceKind::Max>},
      {"ArgMin", 7, importArg<hr::ReduceKind::Min>},
      {"Hardmax", 7, importHardmax},
      {"TopK", 7, importTopK},
  };
  return table;
}

} // namespace headrace::onnx
