// Numbers in another type, by value or by their bits.
#include "frontend/onnx/import/ops/Composing.h"
#include "runtime/system/Text.h"
#include "runtime/tensor/DType.h"

using namespace mlir;

namespace headrace::onnx {

/// To a power of two, exactly: conversion to F8E8M0 by itself takes the one above.
static Value roundedPower(ScalarMath &m, Value number, bool isNearest) {
  Type single = Float32Type::get(number.getContext());
  Type integer = IntegerType::get(number.getContext(), 32);
  auto bits = [&](uint32_t value) {
    return m.op<arith::ConstantOp>(cast<TypedAttr>(IntegerAttr::get(integer, APInt(32, value))));
  };
  Value code = m.op<arith::BitcastOp>(integer, m.convert(number, single));
  // Half of the distance to the next power goes up, but not from the subnormal numbers.
  if (isNearest) {
    Value magnitude = m.op<arith::AndIOp>(code, bits(0x7fffffffu));
    Value isNormal = m.op<arith::CmpIOp>(arith::CmpIPredicate::uge, magnitude, bits(0x00800000u));
    Value isSpecial = m.op<arith::CmpIOp>(arith::CmpIPredicate::uge, magnitude, bits(0x7f800000u));
    Value half = m.select(isNormal, bits(0x00400000u), bits(0x003fffffu));
    code = m.select(isSpecial, magnitude, m.add(magnitude, half));
  }
  Value power = m.op<arith::AndIOp>(code, bits(0x7f800000u));
  // The largest power is below infinity.
  Value isSpecial = m.compare(ScalarMath::Compare::Equal, power, bits(0x7f800000u));
  if (isNearest)
    power = m.select(isSpecial, bits(0x7f7fffffu), power);
  Value isFinite = m.compare(ScalarMath::Compare::Less, m.abs(m.convert(number, single)),
                             m.numberOf(single, std::numeric_limits<float>::infinity()));
  return m.select(isFinite, m.op<arith::BitcastOp>(single, power), m.convert(number, single));
}

/// Numbers that an 8-bit float cannot hold become its largest one unless `saturate` is 0.
static void castTo(NodeContext &c, Type type) {
  Value input = c.input(0);
  if (c.type(0).getElementType() == type)
    return c.result(input);
  bool saturates = c.node.getInt("saturate", 1) != 0;
  std::string rounding = oneOf(c, "round_mode", "up", {"up", "down", "nearest"});
  bool isPower = isa<hr::Float8E8M0Type>(type) && rounding != "up";
  c.result(c.map(input, [&](ScalarMath &m, ValueRange x) {
    Value number = isPower ? roundedPower(m, x[0], rounding == "nearest") : x[0];
    return m.convert(number, type, saturates);
  }));
}

/// Before version 6 the type is a name.
static Type targetType(NodeContext &c) {
  const Attribute *to = c.node.find("to");
  if (!to)
    c.fail(ErrorKind::InvalidModel, "attribute 'to' is missing");
  if (to->kind != Attribute::String) {
    if (Type type = typeAttribute(c, "to"))
      return type;
    c.fail(ErrorKind::InvalidModel, "attribute 'to': expected an element type, got none");
  }
  static const std::pair<StringRef, DType> names[] = {
      {"FLOAT", DType::F32},  {"DOUBLE", DType::F64}, {"FLOAT16", DType::F16},
      {"INT8", DType::I8},    {"INT16", DType::I16},  {"INT32", DType::I32},
      {"INT64", DType::I64},  {"UINT8", DType::U8},   {"UINT16", DType::U16},
      {"UINT32", DType::U32}, {"UINT64", DType::U64}, {"BOOL", DType::Bool}};
  for (auto [name, dtype] : names)
    if (name.equals_insensitive(to->s))
      return toElementType(dtype, c.context);
  c.fail(ErrorKind::Unsupported, "element type {0} of attribute 'to' is not supported",
         inQuotes(to->s));
}

static void importCast(NodeContext &c) { castTo(c, targetType(c)); }
static void importCastLike(NodeContext &c) { castTo(c, c.type(1).getElementType()); }

static unsigned widthOf(Type type) {
  if (int bits = bitsInByte(toDType(type)))
    return bits;
  return 8 * sizeOf(toDType(type));
}

/// Reinterprets the bits as a value of another type of equal width. A boolean has 8 bits.
static void importBitCast(NodeContext &c) {
  Value input = c.input(0);
  Type from = elementTypeOf(input), to = targetType(c);
  if (widthOf(from) != widthOf(to))
    c.fail(ErrorKind::TypeMismatch, "expected types of equal width, got {0} and {1}",
           typeText(from), typeText(to));
  if (from == to)
    return c.result(input);
  c.result(c.map(input, [&](ScalarMath &m, ValueRange x) -> Value {
    Type byte = IntegerType::get(c.context, 8);
    Value bits =
        from.isInteger(1) ? m.convert(x[0], byte)
        : isPlainFloat(from)
            ? m.op<arith::BitcastOp>(Type(IntegerType::get(c.context, widthOf(from))), x[0])
            : m.bits(x[0]);
    if (to.isInteger(1))
      return m.convert(bits, to);
    return isPlainFloat(to) ? m.op<arith::BitcastOp>(to, bits) : m.fromBits(bits, to);
  }));
}

OperatorFamily conversionOperators() {
  static const Operator table[] = {
      {"Cast", 1, importCast, shapes::cast},
      {"CastLike", 15, importCastLike},
      {"BitCast", 26, importBitCast},
  };
  return table;
}

} // namespace headrace::onnx
