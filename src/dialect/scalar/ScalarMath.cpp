#include "dialect/scalar/ScalarMath.h"

#include <cmath>

using namespace mlir;

namespace headrace {

Value ScalarMath::numberOf(Type type, double value) {
  if (auto floating = dyn_cast<FloatType>(type)) {
    bool isRounded = false;
    APFloat(value).convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &isRounded);
    // Half precision is computed in single (ComputeInSingle), with all the digits that has.
    if (isRounded && floating.getWidth() < 32)
      return op<arith::TruncFOp>(type, numberOf(builder.getF32Type(), value));
    return op<arith::ConstantOp>(builder.getFloatAttr(type, value));
  }
  return op<arith::ConstantOp>(builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

/// Dividing the least integer by -1 traps as division by zero does.
Value ScalarMath::safeDivisor(Value b) {
  Value traps = op<arith::OrIOp>(compare(Compare::Equal, b, number(b, 0)),
                                 compare(Compare::Equal, b, number(b, -1)));
  return select(traps, number(b, 1), b);
}

Value ScalarMath::div(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return op<arith::DivFOp>(a, b);
  Value quotient = op<arith::DivSIOp>(a, safeDivisor(b));
  quotient = select(compare(Compare::Equal, b, number(b, -1)), neg(a), quotient);
  return select(compare(Compare::Equal, b, number(b, 0)), number(a, 0), quotient);
}

Value ScalarMath::remainder(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return op<arith::RemFOp>(a, b);
  return op<arith::RemSIOp>(a, safeDivisor(b));
}

/// MLIR's function divides 1 by the base there; any other base but 1 and -1 gives 0, too.
Value ScalarMath::integerPower(Value base, Value exponent) {
  Value traps =
      op<arith::AndIOp>(compare(Compare::Equal, base, number(base, 0)), isNegative(exponent));
  return op<math::IPowIOp>(select(traps, number(base, 2), base), exponent);
}

Value ScalarMath::neg(Value a) {
  return isa<FloatType>(a.getType()) ? op<arith::NegFOp>(a) : sub(number(a, 0), a);
}

Value ScalarMath::abs(Value a) {
  return isa<FloatType>(a.getType()) ? op<math::AbsFOp>(a) : op<math::AbsIOp>(a);
}

Value ScalarMath::compare(Compare kind, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  static constexpr std::pair<F, I> predicates[] = {{F::OEQ, I::eq},  {F::UNE, I::ne},
                                                   {F::OLT, I::slt}, {F::OLE, I::sle},
                                                   {F::OGT, I::sgt}, {F::OGE, I::sge}};
  auto [ordered, integer] = predicates[static_cast<int>(kind)];
  if (isa<FloatType>(a.getType()))
    return op<arith::CmpFOp>(ordered, a, b);
  return op<arith::CmpIOp>(integer, a, b);
}

/// A float toward zero. Machines differ in what they make of numbers that the type cannot hold:
/// here it is the nearest number that it can, and 0 of NaN.
static Value truncated(ScalarMath &m, Value a, Type to) {
  using Compare = ScalarMath::Compare;
  if (a.getType().getIntOrFloatBitWidth() < 32) // which cannot hold all limits
    a = m.convert(a, Float32Type::get(to.getContext()));
  unsigned width = to.getIntOrFloatBitWidth();
  double limit = std::ldexp(1.0, static_cast<int>(width) - 1);
  auto integer = [&](const APInt &value) {
    return m.op<arith::ConstantOp>(cast<TypedAttr>(IntegerAttr::get(to, value)));
  };
  Value isHigh = m.compare(Compare::GreaterOrEqual, a, m.number(a, limit));
  Value isLow = m.compare(Compare::Less, a, m.number(a, -limit));
  Value isNan = m.compare(Compare::NotEqual, a, a);
  Value isOutside = m.op<arith::OrIOp>(m.op<arith::OrIOp>(isHigh, isLow), isNan);
  Value inside = m.op<arith::FPToSIOp>(to, m.select(isOutside, m.number(a, 0), a));
  inside = m.select(isHigh, integer(APInt::getSignedMaxValue(width)), inside);
  return m.select(isLow, integer(APInt::getSignedMinValue(width)), inside);
}

Value ScalarMath::convert(Value a, Type to) {
  Type from = a.getType();
  if (from == to)
    return a;
  if (to.isInteger(1))
    return compare(Compare::NotEqual, a, number(a, 0));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
  if (fromFloat && toFloat) {
    if (fromWidth == toWidth)
      return op<arith::TruncFOp>(to, op<arith::ExtFOp>(builder.getF32Type(), a));
    return fromWidth < toWidth ? op<arith::ExtFOp>(to, a) : op<arith::TruncFOp>(to, a);
  }
  if (fromFloat)
    return truncated(*this, a, to);
  if (toFloat)
    return from.isInteger(1) ? op<arith::UIToFPOp>(to, a) : op<arith::SIToFPOp>(to, a);
  if (from.isInteger(1))
    return op<arith::ExtUIOp>(to, a);
  return fromWidth < toWidth ? op<arith::ExtSIOp>(to, a) : op<arith::TruncIOp>(to, a);
}

} // namespace headrace
