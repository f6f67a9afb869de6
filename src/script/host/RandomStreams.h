#pragma once

#include <array>
#include <cstdint>
#include <span>

/// The public generators that SystemDS draws from: equal seeds give its numbers.
namespace headrace::script {

/// The 48-bit linear congruential generator of java.util.Random.
class LinearStream {
public:
  explicit LinearStream(int64_t seed) : state((static_cast<uint64_t>(seed) ^ kFactor) & kMask) {}

  int32_t bits(int count) {
    state = (state * kFactor + 11) & kMask;
    return static_cast<int32_t>(state >> (48 - count));
  }
  /// In [0, bound), bound > 0.
  int32_t below(int32_t bound);
  /// In [0, bound), bound > 0.
  int64_t below(int64_t bound);
  int64_t whole() {
    auto high = static_cast<uint64_t>(static_cast<int64_t>(bits(32))) << 32;
    return static_cast<int64_t>(high + static_cast<uint64_t>(static_cast<int64_t>(bits(32))));
  }
  /// In [0, 1).
  double uniform() {
    int64_t high = static_cast<int64_t>(bits(26)) << 27;
    return static_cast<double>(high + bits(27)) * 0x1p-53;
  }

private:
  static constexpr uint64_t kFactor = 0x5DEECE66D, kMask = (uint64_t(1) << 48) - 1;
  uint64_t state;
};

/// WELL1024a of Panneton, L'Ecuyer and Matsumoto, as Apache Commons Math seeds it.
class WellStream {
public:
  explicit WellStream(std::span<const int32_t> seed);
  explicit WellStream(int64_t seed);

  int32_t bits(int count);
  int64_t whole() {
    auto high = static_cast<uint64_t>(static_cast<uint32_t>(bits(32))) << 32;
    return static_cast<int64_t>(high | static_cast<uint32_t>(bits(32)));
  }
  double uniform() {
    int64_t high = static_cast<int64_t>(bits(26)) << 26;
    return static_cast<double>(high | bits(26)) * 0x1p-52;
  }

private:
  std::array<uint32_t, 32> state{};
  size_t index = 0;
};

} // namespace headrace::script
