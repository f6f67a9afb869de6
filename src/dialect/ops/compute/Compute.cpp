// The general structured operator: its shape rule, data movement and body.
#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "dialect/ops/compute/ScalarRegions.h"

#include "mlir/IR/Builders.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult ComputeOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc,
                                          Adaptor adaptor, SmallVectorImpl<Type> &inferred) {
  AffineMap domain = adaptor.getDomain();
  int64_t reduced = static_cast<int64_t>(adaptor.getReduced());
  if (domain.getNumDims() != 0)
    return emitOptionalError(loc, "expected a domain of sizes over symbols only");
  if (reduced < 0 || reduced > domain.getNumResults())
    return emitOptionalError(loc, "expected 0 to ", domain.getNumResults(),
                             " reduced dimensions, got ", reduced);
  if (adaptor.getBody().empty() || adaptor.getBody().front().empty())
    return emitOptionalError(loc, "a compute needs a body");
  Operation *yield = adaptor.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1)
    return emitOptionalError(loc, "a compute's body yields one value");
  inferred.push_back(
      tensorType(domain.getResults().drop_back(reduced), yield->getOperand(0).getType()));
  return success();
}

LogicalResult ComputeOp::verifyRegions() {
  if (failed(
          verifyPointBody(getOperation(), getDomain(), getMaps(), getInputs(), getBody().front())))
    return failure();
  bool reduces = getReduced() > 0;
  if (getCombine().empty() == reduces || static_cast<bool>(getInitialAttr()) != reduces)
    return emitOpError("expected an initial value and a reduction function if dimensions are "
                       "reduced, and only there");
  if (!reduces)
    return success();
  Type element = getElementTypeOrSelf(getResult());
  Block &combine = getCombine().front();
  if (cast<TypedAttr>(getInitialAttr()).getType() != element ||
      !llvm::equal(combine.getArgumentTypes(), ArrayRef<Type>{element, element}) ||
      !llvm::equal(combine.getTerminator()->getOperandTypes(), ArrayRef<Type>{element}))
    return emitOpError("expected a reduction of two values of type ") << element << " into one";
  return verifyScalars(getOperation(), combine, getDomain(), /*isCombine=*/true);
}

Movement ComputeOp::getMovement() {
  return movementOf(getOperation(), getDomain(), getReduced(), getMaps(), getTables().size());
}

Value ComputeOp::buildBody(OpBuilder &b, ValueRange scalars) {
  Value value = inlined(b, getBody().front(), scalars.take_front(getNumOperands())).front();
  return getReduced() == 0 ? value
                           : inlined(b, getCombine().front(), {scalars.back(), value}).front();
}

TypedAttr ComputeOp::getInitialValue() { return cast_or_null<TypedAttr>(getInitialAttr()); }

FusionRole ComputeOp::getFusionRole() {
  return getReduced() > 0 ? FusionRole::Anchor : FusionRole::Elementwise;
}

} // namespace headrace::hr
