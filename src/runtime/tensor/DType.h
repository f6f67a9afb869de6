#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

/// The types after F64 are for storage: nothing computes with them, they are converted.
enum class DType : uint8_t {
  Bool,
  I8,
  U8,
  I16,
  U16,
  I32,
  U32,
  I64,
  U64,
  F16,
  BF16,
  F32,
  F64,
  F8E4M3FN,
  F8E4M3FNUZ,
  F8E5M2,
  F8E5M2FNUZ,
  F4E2M1,
  I4,
  U4,
  I2,
  U2,
  F8E8M0
};

/// Bytes of one element. A bool takes one byte, and so do numbers of 4 and 2 bits:
/// sign-extended, or with zeros above them.
size_t sizeOf(DType type);

/// The type whose numbers are the stored bytes: U8 or I8 of a type for storage, else the type.
DType storageOf(DType type);

/// Bits of one element if files pack several into a byte, else 0.
int bitsInByte(DType type);

/// A byte that holds the low bits of one, extended by their sign if they have one.
inline uint8_t lowBits(uint8_t byte, int bits, bool isSigned) {
  auto low = static_cast<uint8_t>(byte & ((1 << bits) - 1));
  bool isNegative = isSigned && (low >> (bits - 1)) != 0;
  return isNegative ? static_cast<uint8_t>(low | (0xff << bits)) : low;
}

/// "f32", "bool", "u8", ...
std::string_view nameOf(DType type);

/// The inverse of nameOf.
std::optional<DType> parseDType(std::string_view name);

} // namespace headrace
