#include "runtime/tensor/DType.h"

#include "runtime/system/Error.h"

#include <array>

namespace headrace {

namespace {

struct DTypeInfo {
  std::string_view name;
  size_t bytes;
};

// In the order of the enumerators.
constexpr std::array<DTypeInfo, 23> infos = {
    {{"bool", 1},   {"i8", 1},         {"u8", 1},     {"i16", 2},      {"u16", 2},
     {"i32", 4},    {"u32", 4},        {"i64", 8},    {"u64", 8},      {"f16", 2},
     {"bf16", 2},   {"f32", 4},        {"f64", 8},    {"f8e4m3fn", 1}, {"f8e4m3fnuz", 1},
     {"f8e5m2", 1}, {"f8e5m2fnuz", 1}, {"f4e2m1", 1}, {"i4", 1},       {"u4", 1},
     {"i2", 1},     {"u2", 1},         {"f8e8m0", 1}}};

const DTypeInfo &infoOf(DType type) {
  auto index = static_cast<size_t>(type);
  if (index >= infos.size())
    throw InternalError("element type " + std::to_string(index) + " does not exist");
  return infos[index];
}

} // namespace

size_t sizeOf(DType type) { return infoOf(type).bytes; }

std::string_view nameOf(DType type) { return infoOf(type).name; }

DType storageOf(DType type) {
  if (type <= DType::F64)
    return type;
  return type == DType::I4 || type == DType::I2 ? DType::I8 : DType::U8;
}

int bitsInByte(DType type) {
  switch (type) {
  case DType::F4E2M1:
  case DType::I4:
  case DType::U4:
    return 4;
  case DType::I2:
  case DType::U2:
    return 2;
  default:
    return 0;
  }
}

std::optional<DType> parseDType(std::string_view name) {
  for (size_t i = 0; i < infos.size(); ++i)
    if (infos[i].name == name)
      return static_cast<DType>(i);
  return std::nullopt;
}

} // namespace headrace
