#include "frontend/common/Compute.h"

#include "dialect/reference/Reference.h"
#include "dialect/scalar/Combine.h"

using namespace mlir;

namespace headrace {

Value PointMath::position(size_t dim) {
  Value index = builder.create<hr::IndexOp>(loc, builder.getIndexType(), dim);
  return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), index);
}

Value PointMath::size(AffineExpr size) {
  if (auto known = constantValue(size))
    return integer(*known);
  Value index = builder.create<hr::SizeOp>(loc, symbolMap({size}, builder.getContext()));
  return builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), index);
}

Value PointMath::element(size_t table, ArrayRef<Value> indices) {
  SmallVector<Value> places;
  for (Value index : indices)
    places.push_back(builder.create<arith::IndexCastOp>(loc, builder.getIndexType(), index));
  Value tensor = arguments[compute.reads.size() + table];
  Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
  return builder.create<hr::ElementOp>(loc, type, tensor, places);
}

Value PointMath::isInside(Value a, Value high) {
  return both(compare(Compare::GreaterOrEqual, a, number(a, 0)), less(a, high));
}

Value PointMath::fromEnd(Value index, AffineExpr length) {
  return select(isNegative(index), add(index, size(length)), index);
}

Value PointMath::isNaN(Value a) {
  if (!isa<FloatType>(a.getType()))
    return numberOf(builder.getI1Type(), 0);
  return op<arith::CmpFOp>(arith::CmpFPredicate::UNO, a, a);
}

SmallVector<AffineExpr> dimensions(OperatorBuilder &b, unsigned begin, unsigned end) {
  SmallVector<AffineExpr> dims;
  for (unsigned i = begin; i < end; ++i)
    dims.push_back(getAffineDimExpr(i, b.context));
  return dims;
}

/// A computation without operands is a constant.
static Value evaluated(OperatorBuilder &b, hr::ComputeOp op) {
  constexpr int64_t kMaxElements = 1 << 20;
  auto type = cast<RankedTensorType>(op.getType());
  bool isKnown = op->getNumOperands() == 0 && op.getDomain().isConstant() &&
                 type.getNumElements() <= kMaxElements;
  op->walk([&](hr::SizeOp size) { isKnown &= size.getExpr().isConstant(); });
  if (!isKnown)
    return op.getResult();
  Tensor result = reference::narrowed(op.evaluate({}, {}), toDType(type.getElementType()));
  op->erase();
  return b.constant(result);
}

Value writeCompute(OperatorBuilder &ops, const Compute &compute, PointFormula formula) {
  OpBuilder &b = ops.builder;
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (const Read &read : compute.reads) {
    inputs.push_back(read.tensor);
    maps.push_back(AffineMap::get(compute.domain.size(), 0, read.at, ops.context));
  }
  // The type of the elements shows once the body is written.
  OpBuilder::InsertPoint here = b.saveInsertionPoint();
  auto body = std::make_unique<Region>();
  Block *block = b.createBlock(body.get());
  for (Value input : inputs)
    block->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), ops.loc);
  for (Value table : compute.tables)
    block->addArgument(table.getType(), ops.loc);
  PointMath math(b, ops.loc, compute, block->getArguments());
  Value value = formula(math);
  b.create<hr::YieldOp>(ops.loc, value);
  Type element = value.getType();
  b.restoreInsertionPoint(here);

  auto result = ArrayRef<AffineExpr>(compute.domain).drop_back(compute.reduced);
  bool reduces = compute.reduced > 0;
  auto op = b.create<hr::ComputeOp>(
      ops.loc, ops.checkedType(result, element), inputs, compute.tables,
      symbolMap(compute.domain, ops.context), b.getAffineMapArrayAttr(maps), compute.reduced,
      reduces ? hr::neutralValue(compute.combine, element) : TypedAttr());
  op.getBody().takeBody(*body);
  if (reduces) {
    Block *combined = b.createBlock(&op.getCombine(), {}, {element, element}, {ops.loc, ops.loc});
    b.create<hr::YieldOp>(ops.loc,
                          hr::combineValues(b, ops.loc, compute.combine, combined->getArgument(0),
                                            combined->getArgument(1)));
    b.setInsertionPointAfter(op);
  }
  return evaluated(ops, op);
}

} // namespace headrace
