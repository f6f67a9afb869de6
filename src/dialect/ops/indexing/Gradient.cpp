// Gradients of operators that pick and place elements by index: each is the other's way back.
#include "dialect/gradient/Builders.h"

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
  Value added = b.create<ScatterAddOp>(loc, tensorType({outer, data[getAxis()], inner}, element),
                                       updates, indices);
  return gradientsOf({reshaped(b, loc, added, data), Value()});
}

Gradients ScatterAddOp::gradient(OpBuilder &b, Value dy) {
  return gradientsOf({b.create<GatherOp>(getLoc(), dy, getIndices(), /*axis=*/1), Value()});
}

} // namespace headrace::hr
