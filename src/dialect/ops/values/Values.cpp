// Constants, sizes and values passed on.
#include "dialect/ConstantData.h"
#include "dialect/gradient/Builders.h"
#include "dialect/reference/Reference.h"

using namespace mlir;
using namespace headrace::gradient;
using namespace headrace::reference;

namespace headrace::hr {

OpFoldResult ConstantOp::fold(FoldAdaptor) { return getValue(); }

Movement ConstantOp::getMovement() { return {}; }

LogicalResult SizeOp::verify() {
  AffineMap map = getExpr();
  if (map.getNumDims() != 0 || map.getNumResults() != 1)
    return emitOpError("expected one expression of symbols only");
  return success();
}

LogicalResult DetachOp::inferReturnTypes(MLIRContext *, std::optional<Location>, Adaptor adaptor,
                                         SmallVectorImpl<Type> &inferred) {
  inferred.push_back(adaptor.getInput().getType());
  return success();
}

Movement DetachOp::getMovement() {
  Movement m = overResult(getResult());
  m.maps = {identityMap(getResult()), identityMap(getResult())};
  return m;
}

FailureOr<Value> DetachOp::expand(OpBuilder &) { return getInput(); }

Tensor ConstantOp::evaluate(Tensors, Sizes) {
  return widened(constantTensor(getValue()), getType().getElementType());
}

Tensor DetachOp::evaluate(Tensors inputs, Sizes) { return inputs[0]; }

Gradients DetachOp::gradient(OpBuilder &, Value) { return gradientsOf({Value()}); }

} // namespace headrace::hr
