#include "verify/RandomValues.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace headrace::verify {

uint64_t RandomNumbers::bits(unsigned count) {
  uint64_t z = state += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return (z ^ (z >> 31)) >> (64 - count);
}

// Bits of a number in [-1, 1) that the type holds exactly, so that none is rounded up to 1.
static unsigned randomBits(DType type) {
  switch (type) {
  case DType::F8E5M2:
  case DType::F8E5M2FNUZ:
    return 3;
  case DType::F8E4M3FN:
  case DType::F8E4M3FNUZ:
    return 4;
  case DType::F4E2M1:
    return 2;
  case DType::BF16:
    return 8;
  case DType::F16:
    return 11;
  case DType::F32:
    return 24;
  case DType::F64:
    return 53;
  default:
    return 0;
  }
}

Tensor randomTensor(DType type, const Shape &shape, RandomNumbers &numbers) {
  unsigned bits = randomBits(type);
  if (bits == 0) {
    Tensor small = Tensor::allocate(DType::U8, shape);
    for (int64_t i = 0; i < small.elements(); ++i)
      small.as<uint8_t>()[i] = static_cast<uint8_t>(numbers.bits(1));
    return small.converted(type);
  }
  Tensor wide = Tensor::allocate(DType::F64, shape);
  double step = 1.0 / static_cast<double>(uint64_t{1} << (bits - 1));
  for (int64_t i = 0; i < wide.elements(); ++i)
    wide.as<double>()[i] = static_cast<double>(numbers.bits(bits)) * step - 1.0;
  return wide.converted(type);
}

std::string_view nameOf(ValueKind kind) {
  switch (kind) {
  case ValueKind::Random:
    return "random";
  case ValueKind::Zeros:
    return "zeros";
  case ValueKind::Negative:
    return "negative";
  case ValueKind::Large:
    return "large";
  case ValueKind::Special:
    return "NaN and infinity";
  }
  return "";
}

static double valueOf(ValueKind kind, double random, int64_t position) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr double special[] = {NAN, infinity, -infinity, -0.0, 1e-40};
  switch (kind) {
  case ValueKind::Negative:
    return -std::abs(random);
  case ValueKind::Large:
    return 1000 * random;
  case ValueKind::Special:
    return position % 7 == 3 ? special[position / 7 % 5] : random;
  default:
    return random;
  }
}

Tensor tensorOf(ValueKind kind, DType type, const Shape &shape, RandomNumbers &numbers) {
  Tensor random = randomTensor(type, shape, numbers);
  if (kind == ValueKind::Zeros) {
    if (random.bytes() > 0)
      std::memset(random.data(), 0, random.bytes());
    return random;
  }
  if (kind == ValueKind::Random || randomBits(type) == 0)
    return random;
  Tensor wide = random.converted(DType::F64);
  if (type == DType::F64) { // its own memory already
    wide = Tensor::allocate(DType::F64, shape);
    std::memcpy(wide.data(), random.data(), random.bytes());
  }
  for (int64_t i = 0; i < wide.elements(); ++i)
    wide.as<double>()[i] = valueOf(kind, wide.as<double>()[i], i);
  return wide.converted(type);
}

} // namespace headrace::verify
