#include "dialect/ops/Operands.h"

#include "dialect/scalar/ScalarMath.h"

using namespace mlir;

namespace headrace::hr {

Value castTo(OpBuilder &b, Location loc, Value tensor, Type element) {
  if (typeOf(tensor).getElementType() == element)
    return tensor;
  return createMap(b, loc, tensor, [&](OpBuilder &inner, ValueRange v) {
    return ScalarMath(inner, loc).convert(v[0], element);
  });
}

/// Order is that of the signed numbers whose highest bit is the other one.
Value asSigned(OpBuilder &b, Location loc, Value tensor, function_ref<Value(Value)> build) {
  Type element = typeOf(tensor).getElementType();
  auto flipped = [&](Value value, Type type) {
    return createMap(b, loc, value, [&](OpBuilder &inner, ValueRange v) {
      ScalarMath m(inner, loc);
      Value bits = m.bits(v[0]);
      APInt highest = APInt::getSignMask(bits.getType().getIntOrFloatBitWidth());
      Value mask =
          m.op<arith::ConstantOp>(cast<TypedAttr>(IntegerAttr::get(bits.getType(), highest)));
      return m.fromBits(m.op<arith::XOrIOp>(bits, mask), type);
    });
  };
  return flipped(build(flipped(tensor, storageType(element))), element);
}

/// [N, C, spatial...]: below rank 3 there is no spatial dimension.
static bool isOnImages(Operation *op) {
  return std::max(typeOf(op->getOperand(0)).getRank(), typeOf(op->getResult(0)).getRank()) >= 3;
}

LayoutRole inEitherLayout(Operation *op) {
  return isOnImages(op) ? LayoutRole{true, false, true} : LayoutRole{};
}

LayoutRole wantsChannelsLast(Operation *op, ChannelLayout layout) {
  return isOnImages(op) && layout == ChannelLayout::First ? LayoutRole{true, true, true}
                                                          : LayoutRole{};
}

} // namespace headrace::hr
