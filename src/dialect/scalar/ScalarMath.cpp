#include "dialect/scalar/ScalarMath.h"

#include "dialect/Hr.h"
#include "dialect/scalar/SmallNumbers.h"

#include <cmath>

using namespace mlir;

namespace headrace {

Value ScalarMath::bits(Value a) {
  Type storage = storageType(a.getType());
  return storage == a.getType() ? a : fromBits(a, storage);
}

Value ScalarMath::fromBits(Value integer, Type type) {
  if (integer.getType() == type)
    return integer;
  if (auto before = integer.getDefiningOp<hr::BitsOp>();
      before && before.getInput().getType() == type)
    return before.getInput();
  return builder.create<hr::BitsOp>(loc, type, integer);
}

Value ScalarMath::numberOf(Type type, double value) {
  if (isStored(type))
    return fromBits(numberOf(storageType(type), value), type);
  if (auto floating = dyn_cast<FloatType>(type)) {
    bool isRounded = false;
    APFloat(value).convert(floating.getFloatSemantics(), APFloat::rmNearestTiesToEven, &isRounded);
    // f16 and bf16 are computed in f32 (ComputeInF32), with all the digits that has.
    if (isRounded && floating.getWidth() < 32)
      return op<arith::TruncFOp>(type, numberOf(builder.getF32Type(), value));
    return op<arith::ConstantOp>(builder.getFloatAttr(type, value));
  }
  return op<arith::ConstantOp>(builder.getIntegerAttr(type, static_cast<int64_t>(value)));
}

/// Dividing the least integer by -1 traps as division by zero does.
Value ScalarMath::safeDivisor(Value b) {
  if (b.getType().isUnsignedInteger())
    return select(compare(Compare::Equal, b, number(b, 0)), number(b, 1), b);
  Value traps = op<arith::OrIOp>(compare(Compare::Equal, b, number(b, 0)),
                                 compare(Compare::Equal, b, number(b, -1)));
  return select(traps, number(b, 1), b);
}

Value ScalarMath::div(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return op<arith::DivFOp>(a, b);
  bool isUnsigned = a.getType().isUnsignedInteger();
  Value quotient =
      isUnsigned ? op<arith::DivUIOp>(a, safeDivisor(b)) : op<arith::DivSIOp>(a, safeDivisor(b));
  if (!isUnsigned)
    quotient = select(compare(Compare::Equal, b, number(b, -1)), neg(a), quotient);
  return select(compare(Compare::Equal, b, number(b, 0)), number(a, 0), quotient);
}

Value ScalarMath::remainder(Value a, Value b) {
  if (isa<FloatType>(a.getType()))
    return op<arith::RemFOp>(a, b);
  return a.getType().isUnsignedInteger() ? op<arith::RemUIOp>(a, safeDivisor(b))
                                         : op<arith::RemSIOp>(a, safeDivisor(b));
}

/// MLIR's function divides 1 by the base there; any other base but 1 and -1 gives 0, too.
Value ScalarMath::integerPower(Value base, Value exponent) {
  Type type = base.getType();
  if (base.getType().isUnsignedInteger() || exponent.getType() != type) {
    // In 64 bits, if exponents are signed and results the same modulo any power of two.
    bool isHuge = exponent.getType().isUnsignedInteger(64);
    Value wide = bits(convert(exponent, isHuge ? exponent.getType() : builder.getI64Type()));
    if (isHuge) {
      // Powers repeat after 2^62 steps at the latest, once the exponent is 64 or more.
      Value step = op<arith::ConstantOp>(builder.getI64IntegerAttr(int64_t(1) << 62));
      Value rest = op<arith::RemUIOp>(wide, step);
      wide = select(isNegative(wide), op<arith::OrIOp>(rest, step), wide);
    }
    return convert(integerPower(convert(base, builder.getI64Type()), wide), type);
  }
  Value traps =
      op<arith::AndIOp>(compare(Compare::Equal, base, number(base, 0)), isNegative(exponent));
  return op<math::IPowIOp>(select(traps, number(base, 2), base), exponent);
}

Value ScalarMath::neg(Value a) {
  return isa<FloatType>(a.getType()) ? op<arith::NegFOp>(a) : sub(number(a, 0), a);
}

Value ScalarMath::abs(Value a) {
  if (a.getType().isUnsignedInteger())
    return a;
  return isa<FloatType>(a.getType()) ? op<math::AbsFOp>(a) : op<math::AbsIOp>(a);
}

Value ScalarMath::compare(Compare kind, Value a, Value b) {
  using F = arith::CmpFPredicate;
  using I = arith::CmpIPredicate;
  struct Predicates {
    F ordered;
    I isSigned, isUnsigned;
  };
  static constexpr Predicates predicates[] = {{F::OEQ, I::eq, I::eq},   {F::UNE, I::ne, I::ne},
                                              {F::OLT, I::slt, I::ult}, {F::OLE, I::sle, I::ule},
                                              {F::OGT, I::sgt, I::ugt}, {F::OGE, I::sge, I::uge}};
  const Predicates &found = predicates[static_cast<int>(kind)];
  if (isa<FloatType>(a.getType()))
    return op<arith::CmpFOp>(found.ordered, a, b);
  return op<arith::CmpIOp>(a.getType().isUnsignedInteger() ? found.isUnsigned : found.isSigned, a,
                           b);
}

/// A float toward zero. Machines differ in what they make of numbers that the type cannot hold:
/// here it is the nearest number that it can, and 0 of NaN.
static Value truncated(ScalarMath &m, Value a, Type to) {
  using Compare = ScalarMath::Compare;
  MLIRContext *context = to.getContext();
  if (a.getType().getIntOrFloatBitWidth() < 32) // which cannot hold all limits
    a = m.convert(a, Float32Type::get(context));
  unsigned width = to.getIntOrFloatBitWidth();
  bool isUnsigned = to.isUnsignedInteger();
  double high = std::ldexp(1.0, static_cast<int>(isUnsigned ? width : width - 1));
  APInt most = isUnsigned ? APInt::getMaxValue(width) : APInt::getSignedMaxValue(width);
  APInt least = isUnsigned ? APInt::getZero(width) : APInt::getSignedMinValue(width);
  Type storage = storageType(to);
  if (width <= 16) { // floats hold the limits: two instructions of vectors keep the number inside
    double last = high - 1, first = isUnsigned ? 0 : -high;
    a = m.select(m.compare(Compare::NotEqual, a, a), m.number(a, 0), a);
    a = m.select(m.compare(Compare::Less, a, m.number(a, last)), a, m.number(a, last));
    a = m.select(m.compare(Compare::Greater, a, m.number(a, first)), a, m.number(a, first));
    // CPUs convert to signed 32-bit numbers.
    Value inside = m.op<arith::FPToSIOp>(IntegerType::get(context, 32), a);
    return m.fromBits(m.op<arith::TruncIOp>(storage, inside), to);
  }
  auto integer = [&](const APInt &value) {
    return m.op<arith::ConstantOp>(cast<TypedAttr>(IntegerAttr::get(storage, value)));
  };
  Value isHigh = m.compare(Compare::GreaterOrEqual, a, m.number(a, high));
  Value isLow = m.compare(Compare::Less, a, m.number(a, isUnsigned ? 0 : -high));
  Value isNan = m.compare(Compare::NotEqual, a, a);
  Value isOutside = m.op<arith::OrIOp>(m.op<arith::OrIOp>(isHigh, isLow), isNan);
  Value small = m.select(isOutside, m.number(a, 0), a);
  Value inside;
  if (isUnsigned)
    inside = m.op<arith::FPToUIOp>(storage, small);
  else
    inside = m.op<arith::FPToSIOp>(storage, small);
  inside = m.select(isHigh, integer(most), inside);
  return m.fromBits(m.select(isLow, integer(least), inside), to);
}

Value ScalarMath::convertIntegers(Value a, Type to) {
  Type from = a.getType(), storage = storageType(to);
  Value number = bits(a);
  unsigned fromWidth = number.getType().getIntOrFloatBitWidth();
  unsigned toWidth = storage.getIntOrFloatBitWidth();
  bool hasNoSign = from.isInteger(1) || from.isUnsignedInteger();
  if (fromWidth < toWidth)
    number = hasNoSign ? op<arith::ExtUIOp>(storage, number) : op<arith::ExtSIOp>(storage, number);
  else if (fromWidth > toWidth)
    number = op<arith::TruncIOp>(storage, number);
  if (isSmallInteger(to))
    number = lowBits(*this, number, to);
  return fromBits(number, to);
}

Value ScalarMath::convert(Value a, Type to, bool saturates) {
  Type from = a.getType();
  if (from == to)
    return a;
  if (isSmallFloat(from))
    return convert(smallToFloat(*this, a), to, saturates);
  if (isSmallFloat(to))
    return floatToSmall(*this, a, to, saturates);
  if (to.isInteger(1))
    return compare(Compare::NotEqual, a, number(a, 0));
  bool fromFloat = isa<FloatType>(from), toFloat = isa<FloatType>(to);
  if (fromFloat && toFloat) {
    unsigned fromWidth = from.getIntOrFloatBitWidth(), toWidth = to.getIntOrFloatBitWidth();
    if (fromWidth == toWidth)
      return op<arith::TruncFOp>(to, op<arith::ExtFOp>(builder.getF32Type(), a));
    return fromWidth < toWidth ? op<arith::ExtFOp>(to, a) : op<arith::TruncFOp>(to, a);
  }
  if (fromFloat && isSmallInteger(to)) // as the machines that have them do: the low bits
    return convertIntegers(truncated(*this, a, builder.getI32Type()), to);
  if (fromFloat)
    return truncated(*this, a, to);
  if (toFloat)
    return from.isInteger(1) || from.isUnsignedInteger() ? op<arith::UIToFPOp>(to, a)
                                                         : op<arith::SIToFPOp>(to, a);
  return convertIntegers(a, to);
}

} // namespace headrace
