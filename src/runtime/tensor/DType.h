#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace headrace {

enum class DType : uint8_t { Bool, I8, U8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64 };

/// Bytes of one element; a bool takes one byte.
size_t sizeOf(DType type);

/// "f32", "bool", "u8", ...
std::string_view nameOf(DType type);

/// The inverse of nameOf.
std::optional<DType> parseDType(std::string_view name);

} // namespace headrace
