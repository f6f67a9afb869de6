#include "dialect/scalar/SmallNumbers.h"

#include "dialect/Hr.h"
#include "dialect/SymbolicShape.h"
#include "runtime/tensor/SmallFloat.h"

using namespace mlir;

namespace headrace {

using Compare = ScalarMath::Compare;

namespace {

/// Formulas over the bits of f32.
struct Bits {
  explicit Bits(ScalarMath &m, MLIRContext *context)
      : m(m), i32(IntegerType::get(context, 32)), f32(Float32Type::get(context)) {}

  Value number(uint32_t value) {
    return m.op<arith::ConstantOp>(cast<TypedAttr>(IntegerAttr::get(i32, APInt(32, value))));
  }
  Value of(float value) { return m.numberOf(f32, static_cast<double>(value)); }
  Value asFloat(Value bits) { return m.op<arith::BitcastOp>(f32, bits); }
  Value asBits(Value number) { return m.op<arith::BitcastOp>(i32, number); }
  Value masked(Value a, uint32_t mask) { return m.op<arith::AndIOp>(a, number(mask)); }
  Value shiftedLeft(Value a, int by) { return m.op<arith::ShLIOp>(a, number(by)); }
  Value shiftedRight(Value a, int by) { return m.op<arith::ShRUIOp>(a, number(by)); }

  ScalarMath &m;
  Type i32, f32;
};

} // namespace

static SmallFloat formatOf(Type type) { return *smallFloat(toDType(type)); }

/// F8E8M0. Its smallest number is subnormal in f32, and written as its bits.
static Value powerToFloat(ScalarMath &m, Value number) {
  Bits b(m, number.getContext());
  Value code = m.op<arith::ExtUIOp>(b.i32, m.bits(number));
  auto is = [&](uint32_t what) { return m.compare(Compare::Equal, code, b.number(what)); };
  Value bits = m.select(is(0), b.number(0x00400000u), b.shiftedLeft(code, 23));
  return m.select(is(kPowerNan), b.of(NAN), b.asFloat(bits));
}

Value smallToFloat(ScalarMath &m, Value number) {
  if (isa<hr::Float8E8M0Type>(number.getType()))
    return powerToFloat(m, number);
  SmallFloat format = formatOf(number.getType());
  Bits b(m, number.getContext());
  Value code = m.op<arith::ExtUIOp>(b.i32, m.bits(number));
  Value magnitude = b.masked(code, format.sign - 1u);
  Value value =
      m.mul(b.asFloat(b.shiftedLeft(magnitude, 23 - format.mantissaBits)), b.of(format.scale()));
  auto is = [&](Value a, uint32_t what) { return m.compare(Compare::Equal, a, b.number(what)); };
  Value nan = b.of(NAN);
  if (format.largest < format.sign - 1) {
    Value isSpecial = m.compare(Compare::Greater, magnitude, b.number(format.largest));
    Value special =
        format.hasInfinity ? m.select(is(magnitude, format.overflow), b.of(INFINITY), nan) : nan;
    value = m.select(isSpecial, special, value);
  }
  Value sign = b.shiftedLeft(b.masked(code, format.sign), format.sign == 0x80 ? 24 : 28);
  value = b.asFloat(m.op<arith::OrIOp>(b.asBits(value), sign));
  return format.hasNegativeZero ? value : m.select(is(code, format.nan), nan, value);
}

/// In f32, rounded to odd if digits are lost: a second rounding is then as if done
/// at once.
static Value inSingle(ScalarMath &m, Value number) {
  MLIRContext *context = number.getContext();
  Bits b(m, context);
  if (!isa<FloatType>(number.getType()))
    number = m.convert(number, Float64Type::get(context));
  if (!number.getType().isF64())
    return m.convert(number, b.f32);
  Value nearest = m.convert(number, b.f32), back = m.convert(nearest, number.getType());
  Value isExact = m.op<arith::CmpFOp>(arith::CmpFPredicate::UEQ, back, number);
  Value isInfinite = m.compare(Compare::Equal, m.abs(nearest), b.of(INFINITY));
  Value isBeyond = m.compare(Compare::Greater, m.abs(back), m.abs(number));
  Value bits = b.asBits(nearest);
  Value towardZero = m.select(isBeyond, m.sub(bits, b.number(1)), bits);
  Value odd = b.asFloat(m.op<arith::OrIOp>(towardZero, b.number(1)));
  return m.select(m.op<arith::OrIOp>(isExact, isInfinite), nearest, odd);
}

/// F8E8M0: the power of two at or above the magnitude.
static Value floatToPower(ScalarMath &m, Value value, Type type, bool saturates) {
  Bits b(m, type.getContext());
  Value magnitude = b.masked(b.asBits(value), 0x7fffffffu);
  Value code = b.shiftedRight(m.add(magnitude, b.number(0x7fffffu)), 23);
  if (saturates)
    code = m.op<arith::MinUIOp>(code, b.number(kPowerNan - 1u));
  Value isSpecial = m.compare(Compare::GreaterOrEqual, magnitude, b.number(0x7f800000u));
  code = m.select(isSpecial, b.number(kPowerNan), code);
  return m.fromBits(m.op<arith::TruncIOp>(storageType(type), code), type);
}

Value floatToSmall(ScalarMath &m, Value number, Type type, bool saturates) {
  if (isa<hr::Float8E8M0Type>(type))
    return floatToPower(m, inSingle(m, number), type, saturates);
  SmallFloat format = formatOf(type);
  Bits b(m, type.getContext());
  Value value = inSingle(m, number);
  Value bits = b.asBits(value), magnitude = b.masked(bits, 0x7fffffffu);

  int shift = 23 - format.mantissaBits;
  Value half =
      m.add(b.number((1u << (shift - 1)) - 1), b.masked(b.shiftedRight(magnitude, shift), 1));
  Value rounded = b.shiftedRight(m.add(magnitude, half), shift);
  uint32_t rebias = static_cast<uint32_t>(127 - format.bias) << format.mantissaBits;
  Value code = m.sub(rounded, b.number(rebias));
  Value isLarge = m.compare(Compare::Greater, code, b.number(format.largest));
  code = m.select(isLarge, b.number(saturates ? format.largest : format.overflow), code);

  // Subnormal numbers are multiples of the smallest.
  Value absolute = b.asFloat(magnitude);
  float perUnit = std::ldexp(1.0f, format.bias - 1 + format.mantissaBits);
  Value isSmall = m.compare(Compare::Less, absolute, b.of(format.smallestNormal()));
  Value units = m.mul(m.select(isSmall, absolute, b.of(0)), b.of(perUnit));
  Value subnormal = m.op<arith::FPToSIOp>(b.i32, m.op<math::RoundEvenOp>(units));
  code = m.select(isSmall, subnormal, code);
  Value isNan = m.compare(Compare::NotEqual, value, value);
  code = m.select(isNan, b.number(format.nan), code);

  Value sign = b.shiftedRight(b.masked(bits, 0x80000000u), format.sign == 0x80 ? 24 : 28);
  if (!format.hasNegativeZero) {
    Value hasNone = m.op<arith::OrIOp>(m.compare(Compare::Equal, code, b.number(0)),
                                       m.compare(Compare::Equal, code, b.number(format.nan)));
    sign = m.select(hasNone, b.number(0), sign);
  }
  Value byte = m.op<arith::TruncIOp>(storageType(type), m.op<arith::XOrIOp>(code, sign));
  return m.fromBits(byte, type);
}

Value lowBits(ScalarMath &m, Value byte, Type type) {
  unsigned width = type.getIntOrFloatBitWidth();
  if (type.isUnsignedInteger())
    return m.op<arith::AndIOp>(byte, m.number(byte, (1u << width) - 1));
  Value above = m.number(byte, 8 - width);
  return m.op<arith::ShRSIOp>(m.op<arith::ShLIOp>(byte, above), above);
}

} // namespace headrace
