// Element-wise work.
#include "dialect/SymbolicShape.h"
#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::hr {

LogicalResult MapOp::inferReturnTypes(MLIRContext *, std::optional<Location> loc, Adaptor adaptor,
                                      SmallVectorImpl<Type> &inferred) {
  SymbolicShape shape;
  for (Value input : adaptor.getInputs()) {
    auto joined = broadcastShapes(shape, shapeOf(input));
    if (!joined)
      return emitOptionalError(loc, "shapes ", shapeText(shape), " and ", shapeText(shapeOf(input)),
                               " do not broadcast");
    shape = *joined;
  }
  if (adaptor.getBody().empty() || adaptor.getBody().front().empty())
    return emitOptionalError(loc, "a map needs a body");
  Operation *yield = adaptor.getBody().front().getTerminator();
  if (yield->getNumOperands() != 1)
    return emitOptionalError(loc, "a map's body yields one value");
  inferred.push_back(tensorType(shape, yield->getOperand(0).getType()));
  return success();
}

LogicalResult MapOp::verifyRegions() {
  Block &body = getBody().front();
  if (body.getNumArguments() != getInputs().size())
    return emitOpError("expected one body argument per input, got ") << body.getNumArguments();
  for (auto [input, argument] : llvm::zip(getInputs(), body.getArguments()))
    if (typeOf(input).getElementType() != argument.getType())
      return emitOpError("expected a body argument of type ")
             << typeOf(input).getElementType() << ", got " << argument.getType();
  for (Operation &op : body.without_terminator())
    if (!isa<SizeOp, BitsOp>(op) && !isa<arith::ArithDialect, math::MathDialect>(op.getDialect()))
      return emitOpError("a map's body holds scalar arithmetic only, got ") << op.getName();
  return success();
}

Movement MapOp::getMovement() {
  Movement m = overResult(getResult());
  for (Value input : getInputs())
    m.maps.push_back(broadcastMap(input, m.domain.size()));
  m.maps.push_back(identityMap(getResult()));
  for (Operation &op : getBody().front().without_terminator())
    m.operationsPerPoint += !isa<arith::ConstantOp, SizeOp>(op);
  return m;
}

Value MapOp::buildBody(OpBuilder &b, ValueRange scalars) {
  IRMapping mapping;
  Block &body = getBody().front();
  mapping.map(body.getArguments(), scalars.take_front(body.getNumArguments()));
  for (Operation &op : body.without_terminator())
    b.clone(op, mapping);
  return mapping.lookupOrDefault(body.getTerminator()->getOperand(0));
}

FusionRole MapOp::getFusionRole() { return FusionRole::Elementwise; }

LayoutRole MapOp::getLayoutRole() { return inEitherLayout(*this); }

} // namespace headrace::hr
