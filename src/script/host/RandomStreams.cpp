#include "script/host/RandomStreams.h"

#include <algorithm>

namespace headrace::script {

int32_t LinearStream::below(int32_t bound) {
  if ((bound & -bound) == bound)
    return static_cast<int32_t>((int64_t(bound) * bits(31)) >> 31);
  while (true) {
    int64_t drawn = bits(31);
    int64_t result = drawn % bound;
    // The last, incomplete run of the range would favor small numbers.
    if (drawn - result + (bound - 1) <= INT32_MAX)
      return static_cast<int32_t>(result);
  }
}

int64_t LinearStream::below(int64_t bound) {
  while (true) {
    auto drawn = static_cast<uint64_t>(whole()) & INT64_MAX;
    uint64_t result = drawn % static_cast<uint64_t>(bound);
    if (drawn - result + static_cast<uint64_t>(bound - 1) <= INT64_MAX)
      return static_cast<int64_t>(result);
  }
}

WellStream::WellStream(std::span<const int32_t> seed) {
  size_t given = std::min(seed.size(), state.size());
  std::copy_n(seed.begin(), given, state.begin());
  for (size_t i = given; i < state.size(); ++i) {
    auto before = static_cast<int64_t>(static_cast<int32_t>(state[i - seed.size()]));
    auto mixed = static_cast<uint64_t>(before ^ (before >> 30));
    state[i] = static_cast<uint32_t>(1812433253U * mixed + i);
  }
}

WellStream::WellStream(int64_t seed)
    : WellStream(std::array{static_cast<int32_t>(seed >> 32), static_cast<int32_t>(seed)}) {}

int32_t WellStream::bits(int count) {
  auto at = [&](size_t offset) -> uint32_t & { return state[(index + offset) & 31]; };
  uint32_t z0 = at(31);
  uint32_t z1 = at(0) ^ at(3) ^ (at(3) >> 8);
  uint32_t z2 = at(24) ^ (at(24) << 19) ^ at(10) ^ (at(10) << 14);
  uint32_t z4 = z0 ^ (z0 << 11) ^ z1 ^ (z1 << 7) ^ z2 ^ (z2 << 13);
  at(0) = z1 ^ z2;
  at(31) = z4;
  index = (index + 31) & 31;
  return static_cast<int32_t>(z4 >> (32 - count));
}

} // namespace headrace::script
