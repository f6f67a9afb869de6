#include "dialect/LinalgBuilders.h"

#include "dialect/KernelSizes.h"
#include "dialect/SymbolicShape.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;

namespace headrace {

Value emptyLike(OpBuilder &b, Location loc, Value result) {
  return emptyTensor(b, loc, shapeOf(result), getElementTypeOrSelf(result));
}

Value zerosLike(OpBuilder &b, Location loc, Value result) {
  Value zero = b.create<arith::ConstantOp>(loc, b.getZeroAttr(getElementTypeOrSelf(result)));
  return b.create<linalg::FillOp>(loc, zero, emptyLike(b, loc, result)).getResult(0);
}

Value generic(OpBuilder &b, Location loc, const Movement &m, ValueRange inputs, Value init,
              function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  auto op = b.create<linalg::GenericOp>(
      loc, TypeRange{init.getType()}, inputs, ValueRange{init}, m.maps, m.iterators,
      [&](OpBuilder &inner, Location innerLoc, ValueRange args) {
        inner.create<linalg::YieldOp>(innerLoc, body(inner, innerLoc, args));
      });
  return op.getResult(0);
}

} // namespace headrace
