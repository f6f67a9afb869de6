#include "dialect/gradient/Builders.h"

#include "dialect/ops/Operands.h"

using namespace mlir;

namespace headrace::gradient {

using hr::typeOf;

bool isFloat(Value value) { return isa<FloatType>(typeOf(value).getElementType()); }

Value filled(OpBuilder &b, Location loc, RankedTensorType type, double value) {
  Type element = type.getElementType();
  TypedAttr number = isa<FloatType>(element)
                         ? TypedAttr(b.getFloatAttr(element, value))
                         : TypedAttr(b.getIntegerAttr(element, static_cast<int64_t>(value)));
  auto scalar = RankedTensorType::get({}, element);
  Value constant = b.create<hr::ConstantOp>(loc, DenseElementsAttr::get(scalar, number));
  return broadcast(b, loc, constant, shapeOf(type));
}

Value reshaped(OpBuilder &b, Location loc, Value value, ArrayRef<AffineExpr> shape) {
  RankedTensorType type = tensorType(shape, typeOf(value).getElementType());
  return b.createOrFold<hr::ReshapeOp>(loc, type, value);
}

Value broadcast(OpBuilder &b, Location loc, Value value, ArrayRef<AffineExpr> shape) {
  RankedTensorType type = tensorType(shape, typeOf(value).getElementType());
  return b.createOrFold<hr::BroadcastOp>(loc, type, value);
}

Value reduced(OpBuilder &b, Location loc, hr::ReduceKind kind, Value value,
              ArrayRef<int64_t> axes) {
  return b.create<hr::ReduceOp>(loc, value, kind, axes, /*keep_dims=*/true);
}

Value sum(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return createMap(b, loc, {lhs, rhs}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::AddFOp>(loc, v[0], v[1]);
  });
}

Value product(OpBuilder &b, Location loc, Value lhs, Value rhs) {
  return createMap(b, loc, {lhs, rhs}, [&](OpBuilder &i, ValueRange v) -> Value {
    return i.create<arith::MulFOp>(loc, v[0], v[1]);
  });
}

Value scaled(OpBuilder &b, Location loc, Value value, double factor) {
  return createMap(b, loc, {value}, [&](OpBuilder &i, ValueRange v) -> Value {
    Value number = i.create<arith::ConstantOp>(loc, i.getFloatAttr(v[0].getType(), factor));
    return i.create<arith::MulFOp>(loc, v[0], number);
  });
}

Value summedTo(OpBuilder &b, Location loc, Value value, ArrayRef<AffineExpr> shape) {
  SymbolicShape from = shapeOf(value);
  size_t added = from.size() - shape.size();
  SmallVector<int64_t> axes;
  for (size_t i = 0; i < from.size(); ++i)
    if (i < added || !sameSize(from[i], shape[i - added]))
      axes.push_back(static_cast<int64_t>(i));
  if (!axes.empty())
    value = reduced(b, loc, hr::ReduceKind::Sum, value, axes);
  return reshaped(b, loc, value, shape);
}

Value sizeScalar(OpBuilder &b, Location loc, AffineExpr size, Type type) {
  if (auto number = constantValue(size))
    return b.create<arith::ConstantOp>(loc, b.getFloatAttr(type, static_cast<double>(*number)));
  Value index = b.create<hr::SizeOp>(loc, symbolMap({size}, b.getContext()));
  Value integer = b.create<arith::IndexCastOp>(loc, b.getI64Type(), index);
  return b.create<arith::SIToFPOp>(loc, type, integer);
}

Value converted(OpBuilder &b, Location loc, Value number, Type type) {
  unsigned from = number.getType().getIntOrFloatBitWidth(), to = type.getIntOrFloatBitWidth();
  if (number.getType() == type)
    return number;
  if (from == to) // f16 and bf16
    number = b.create<arith::ExtFOp>(loc, b.getF32Type(), number), from = 32;
  return from < to ? b.create<arith::ExtFOp>(loc, type, number).getResult()
                   : b.create<arith::TruncFOp>(loc, type, number).getResult();
}

} // namespace headrace::gradient
