// Reference evaluation of reductions of tuples.
#include "dialect/ops/compute/PointEvaluator.h"
#include "dialect/ops/folds/Folds.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

Tensor FoldOp::evaluate(Tensors inputs, Sizes symbols) {
  return PointEvaluator(*this, getInitial().getValue(), getComponent(), inputs, symbols).run();
}

} // namespace headrace::hr
