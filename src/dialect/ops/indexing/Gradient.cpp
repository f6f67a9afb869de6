// Gradients of operators that pick and place elements by index: each is the other's way back.
#include "dialect/gradient/Builders.h"
#include "dialect/ops/Operands.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

Gradients GatherOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  MLIRContext *context = getContext();
  SymbolicShape data = shapeOf(getData());
  AffineExpr picked = elementCount(shapeOf(getIndices()), context);
  AffineExpr outer = elementCount(ArrayRef(data).take_front(getAxis()), context);
  AffineExpr inner = elementCount(ArrayRef(data).drop_front(getAxis() + 1), context);
  Value updates = reshaped(b, loc, dy, {outer, picked, inner});
  Value indices = reshaped(b, loc, getIndices(), {picked});
  Type element = typeOf(getData()).getElementType();
  Value added =
      b.create<ScatterOp>(loc, tensorType({outer, data[getAxis()], inner}, element), updates,
                          indices, Value(), ReduceKindAttr::get(context, ReduceKind::Sum));
  return gradientsOf({reshaped(b, loc, added, data), Value()});
}

/// Elements that were added keep their gradient, replaced ones lose it.
Gradients ScatterOp::gradient(OpBuilder &b, Value dy) {
  Location loc = getLoc();
  if (getKind() && *getKind() != ReduceKind::Sum) {
    emitError("a scatter that multiplies or compares has no gradient");
    return failure();
  }
  Value updates = b.create<GatherOp>(loc, dy, getIndices(), /*axis=*/1);
  if (!getData())
    return gradientsOf({updates, Value()});
  if (getKind())
    return gradientsOf({updates, Value(), dy});
  Value zeros = filled(b, loc, typeOf(getUpdates()), 0);
  Value kept = b.create<ScatterOp>(loc, dy.getType(), zeros, getIndices(), dy, ReduceKindAttr());
  return gradientsOf({updates, Value(), kept});
}

} // namespace headrace::hr
