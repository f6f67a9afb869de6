// Reference evaluation of the general structured operator.
#include "dialect/ops/compute/PointEvaluator.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

Tensor ComputeOp::evaluate(Tensors inputs, Sizes symbols) {
  Attribute initial = getInitialAttr();
  return PointEvaluator(*this, initial, 0, inputs, symbols).run();
}

} // namespace headrace::hr
