// Tensor::converted: every element type to every other.

#include "runtime/system/Error.h"
#include "runtime/tensor/SmallFloat.h"
#include "runtime/tensor/Tensor.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace headrace {

namespace {

// Element types that C++ has no arithmetic type for.
struct BoolByte {
  uint8_t byte;
};
struct F16Bits {
  uint16_t bits;
};
struct BF16Bits {
  uint16_t bits;
};
template <DType type> struct SmallBits {
  static inline const SmallFloat format = *smallFloat(type);
  uint8_t bits;
};
struct PowerBits {
  uint8_t bits;
};
template <int bits, bool isSigned> struct FewBits {
  uint8_t byte;
};

// The arithmetic value of an element, and back.
template <class T> T valueOf(T element) { return element; }
uint8_t valueOf(BoolByte element) { return element.byte != 0; }
float valueOf(F16Bits element) { return f16ToFloat(element.bits); }
float valueOf(BF16Bits element) { return bf16ToFloat(element.bits); }
template <DType type> float valueOf(SmallBits<type> element) {
  return smallToFloat(SmallBits<type>::format, element.bits);
}
float valueOf(PowerBits element) { return powerToFloat(element.bits); }
template <int bits> int8_t valueOf(FewBits<bits, true> element) {
  return static_cast<int8_t>(element.byte);
}
template <int bits> uint8_t valueOf(FewBits<bits, false> element) { return element.byte; }

template <class T> constexpr bool isSmall = false;
template <DType type> constexpr bool isSmall<SmallBits<type>> = true;
template <class T> constexpr bool isFewBits = false;
template <int bits, bool isSigned> constexpr bool isFewBits<FewBits<bits, isSigned>> = true;

template <class Value> float narrow(Value value) {
  if constexpr (std::is_same_v<Value, float>)
    return value;
  else
    return narrowToOdd(static_cast<double>(value));
}

template <class To, class Value> To clampToInteger(Value value) {
  // Both limits are exact or round to the power of two just outside the range.
  constexpr auto low = static_cast<Value>(std::numeric_limits<To>::min());
  constexpr auto high = static_cast<Value>(std::numeric_limits<To>::max());
  if (std::isnan(value))
    return 0;
  if (value <= low)
    return std::numeric_limits<To>::min();
  if (value >= high)
    return std::numeric_limits<To>::max();
  return static_cast<To>(value);
}

/// The low bits of a number, extended by their sign if they have one.
template <int bits, bool isSigned, class Value>
FewBits<bits, isSigned> asFewBits(FewBits<bits, isSigned>, Value value) {
  uint8_t byte = 0;
  if constexpr (std::is_floating_point_v<Value>)
    byte = static_cast<uint8_t>(clampToInteger<int32_t>(value));
  else
    byte = static_cast<uint8_t>(value);
  return {lowBits(byte, bits, isSigned)};
}

template <class To, class Value> To elementOf(Value value) {
  if constexpr (std::is_same_v<To, BoolByte>)
    return {static_cast<uint8_t>(value != 0)};
  else if constexpr (std::is_same_v<To, F16Bits>)
    return {floatToF16(narrow(value))};
  else if constexpr (std::is_same_v<To, BF16Bits>)
    return {floatToBf16(narrow(value))};
  else if constexpr (isSmall<To>)
    return {floatToSmall(To::format, narrow(value), /*saturate=*/false)};
  else if constexpr (std::is_same_v<To, PowerBits>)
    return {floatToPower(narrow(value), /*saturate=*/false)};
  else if constexpr (isFewBits<To>)
    return asFewBits(To{}, value);
  else if constexpr (std::is_integral_v<To> && std::is_floating_point_v<Value>)
    return clampToInteger<To>(value);
  else
    return static_cast<To>(value);
}

template <class From, class To>
void convertElements(const void *source, void *target, int64_t count) {
  auto *from = static_cast<const std::byte *>(source);
  auto *to = static_cast<To *>(target);
  for (int64_t i = 0; i < count; ++i) {
    From element; // copied out because borrowed memory may be unaligned
    std::memcpy(&element, from + i * sizeof(From), sizeof(From));
    to[i] = elementOf<To>(valueOf(element));
  }
}

template <class Visitor> void withElementType(DType type, Visitor visit) {
  switch (type) {
  case DType::Bool:
    return visit(BoolByte{});
  case DType::I8:
    return visit(int8_t{});
  case DType::U8:
    return visit(uint8_t{});
  case DType::I16:
    return visit(int16_t{});
  case DType::U16:
    return visit(uint16_t{});
  case DType::I32:
    return visit(int32_t{});
  case DType::U32:
    return visit(uint32_t{});
  case DType::I64:
    return visit(int64_t{});
  case DType::U64:
    return visit(uint64_t{});
  case DType::F16:
    return visit(F16Bits{});
  case DType::BF16:
    return visit(BF16Bits{});
  case DType::F32:
    return visit(float{});
  case DType::F64:
    return visit(double{});
  case DType::F8E4M3FN:
    return visit(SmallBits<DType::F8E4M3FN>{});
  case DType::F8E4M3FNUZ:
    return visit(SmallBits<DType::F8E4M3FNUZ>{});
  case DType::F8E5M2:
    return visit(SmallBits<DType::F8E5M2>{});
  case DType::F8E5M2FNUZ:
    return visit(SmallBits<DType::F8E5M2FNUZ>{});
  case DType::F4E2M1:
    return visit(SmallBits<DType::F4E2M1>{});
  case DType::I4:
    return visit(FewBits<4, true>{});
  case DType::U4:
    return visit(FewBits<4, false>{});
  case DType::I2:
    return visit(FewBits<2, true>{});
  case DType::U2:
    return visit(FewBits<2, false>{});
  case DType::F8E8M0:
    return visit(PowerBits{});
  }
}

} // namespace

Tensor Tensor::converted(DType target) const {
  if (!present)
    throw InternalError("an absent tensor was converted");
  if (target == type)
    return *this;
  Tensor result = allocate(target, sizes);
  withElementType(type, [&](auto from) {
    withElementType(target, [&](auto to) {
      convertElements<decltype(from), decltype(to)>(memory, result.memory, count);
    });
  });
  return result;
}

} // namespace headrace
