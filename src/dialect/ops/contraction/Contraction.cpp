// Sums of products over any pair of tensors.
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"
#include "dialect/scalar/Combine.h"

#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using utils::IteratorType;

namespace headrace::hr {

LogicalResult ContractOp::inferReturnTypes(MLIRContext *context, std::optional<Location> loc,
                                           Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  auto maps = adaptor.getMaps().getAsValueRange<AffineMapAttr>();
  SmallVector<AffineMap> all(maps.begin(), maps.end());
  if (all.size() != 3)
    return emitOptionalError(loc, "a contraction has three maps, got ", all.size());
  if (llvm::any_of(all, [&](AffineMap map) {
        return !map.isProjectedPermutation() || map.getNumDims() != all[0].getNumDims();
      }))
    return emitOptionalError(loc, "a contraction's maps must each pick dimensions of one domain");
  SymbolicShape sizes(all[0].getNumDims());
  Value operands[] = {adaptor.getLhs(), adaptor.getRhs()};
  for (auto [map, operand] : llvm::zip(all, operands)) {
    if (map.getNumResults() != typeOf(operand).getRank())
      return emitOptionalError(loc, "a contraction's map must name each dimension of its operand");
    for (auto [expr, dim] : llvm::zip(map.getResults(), shapeOf(operand))) {
      AffineExpr &size = sizes[cast<AffineDimExpr>(expr).getPosition()];
      if (size && !sameSize(size, dim))
        return emitOptionalError(loc, "the operands ", shapeText(shapeOf(operands[0])), " and ",
                                 shapeText(shapeOf(operands[1])),
                                 " differ in a dimension they share");
      size = dim;
    }
  }
  SymbolicShape result;
  for (AffineExpr expr : all[2].getResults()) {
    AffineExpr size = sizes[cast<AffineDimExpr>(expr).getPosition()];
    if (!size)
      return emitOptionalError(loc, "a result dimension comes from neither operand");
    result.push_back(size);
  }
  auto element = accumulatorOf(loc, typeOf(operands[0]).getElementType(),
                               typeOf(operands[1]).getElementType(), adaptor.getAccumulator());
  if (failed(element))
    return failure();
  inferred.push_back(tensorType(result, *element));
  return success();
}

Movement ContractOp::getMovement() {
  Movement m;
  auto maps = getMaps().getAsValueRange<AffineMapAttr>();
  m.maps.assign(maps.begin(), maps.end());
  m.domain.resize(m.maps[0].getNumDims());
  m.iterators.assign(m.domain.size(), IteratorType::reduction);
  m.operationsPerPoint = 2;
  Value operands[] = {getLhs(), getRhs()};
  for (auto [map, value] : llvm::zip(m.maps, operands))
    for (auto [expr, size] : llvm::zip(map.getResults(), shapeOf(value)))
      m.domain[cast<AffineDimExpr>(expr).getPosition()] = size;
  for (AffineExpr expr : m.maps[2].getResults())
    m.iterators[cast<AffineDimExpr>(expr).getPosition()] = IteratorType::parallel;
  return m;
}

Value ContractOp::buildBody(OpBuilder &b, ValueRange scalars) {
  return multiplyAdd(b, getLoc(), scalars, {getUnsignedLhs(), getUnsignedRhs()});
}

TypedAttr ContractOp::getInitialValue() {
  return neutralValue(ReduceKind::Sum, getElementTypeOrSelf(getResult()));
}

FusionRole ContractOp::getFusionRole() { return FusionRole::Anchor; }

} // namespace headrace::hr
