#include "dialect/Movement.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace {

AffineExpr Movement::operations(MLIRContext *context) const {
  return elementCount(domain, context) * operationsPerPoint;
}

Movement overResult(Value result) {
  Movement m;
  m.domain = shapeOf(result);
  m.iterators.assign(m.domain.size(), IteratorType::parallel);
  return m;
}

AffineMap identityMap(Value value) {
  return AffineMap::getMultiDimIdentityMap(cast<RankedTensorType>(value.getType()).getRank(),
                                           value.getContext());
}

AffineMap broadcastMap(Value operand, unsigned rank) {
  MLIRContext *context = operand.getContext();
  SymbolicShape shape = shapeOf(operand);
  SmallVector<AffineExpr> exprs;
  for (auto [i, dim] : llvm::enumerate(shape))
    exprs.push_back(constantValue(dim) == 1 ? constantDim(0, context)
                                            : getAffineDimExpr(rank - shape.size() + i, context));
  return AffineMap::get(rank, 0, exprs, context);
}

} // namespace headrace
