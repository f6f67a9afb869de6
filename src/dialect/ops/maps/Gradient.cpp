// Gradients of maps: one map per operand, of the operands (or of the result, if that says all)
// and the result's gradient. Nothing in between is kept from the forward pass.
#include "dialect/gradient/Builders.h"
#include "dialect/scalar/ScalarDerivative.h"

using namespace mlir;
using namespace headrace::gradient;

namespace headrace::hr {

Gradients MapOp::gradient(OpBuilder &b, Value resultGradient) {
  Location loc = getLoc();
  Block &body = getBody().front();
  SmallVector<Value> gradients(getInputs().size());
  SmallVector<Value> inputs(getInputs());
  inputs.push_back(getResult());
  inputs.push_back(resultGradient);
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (!dependsOn(body, i))
      continue;
    bool known = true;
    Value full = createMap(b, loc, inputs, [&](OpBuilder &inner, ValueRange v) -> Value {
      Value slope = buildDerivative(inner, loc, body, v.drop_back(2), v[v.size() - 2], i);
      known = slope != nullptr;
      if (!known)
        return v.back();
      Value change = scaleDerivative(inner, loc, slope, v.back());
      return converted(inner, loc, change, v[i].getType());
    });
    if (!known)
      return failure();
    gradients[i] = summedTo(b, loc, full, shapeOf(getInputs()[i]));
  }
  return gradients;
}

} // namespace headrace::hr
