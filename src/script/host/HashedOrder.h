#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

namespace headrace::script {

/// java.lang.Double's hash code; all NaN have one.
inline uint32_t javaHash(double value) {
  auto bits = std::bit_cast<uint64_t>(std::isnan(value) ? std::nan("") : value);
  return static_cast<uint32_t>(bits ^ (bits >> 32));
}

/// java.lang.String's hash code, of ASCII text.
inline uint32_t javaHash(std::string_view text) {
  uint32_t hash = 0;
  for (char c : text)
    hash = 31 * hash + static_cast<unsigned char>(c);
  return hash;
}

/// The order in which a java.util.HashMap iterates over keys, which is the order of SystemDS's
/// results of `unique` and of its recode maps: by bucket, then as inserted. (Java reorders a bucket
/// of a large table that more than eight keys share; that is not done here.)
class HashedOrder {
public:
  /// The positions of keys with these hash codes, which were inserted in this order. The table
  /// stays as large for the next keys.
  std::vector<size_t> operator()(const std::vector<uint32_t> &hashes) {
    auto bucket = [&](size_t i) { return (hashes[i] ^ (hashes[i] >> 16)) & (buckets - 1); };
    std::vector<uint32_t> sizes(buckets);
    auto grow = [&](size_t inserted) {
      buckets *= 2;
      sizes.assign(buckets, 0);
      for (size_t i = 0; i < inserted; ++i)
        ++sizes[bucket(i)];
    };
    for (size_t i = 0; i < hashes.size(); ++i) {
      // A small table grows rather than let nine keys share a bucket.
      if (sizes[bucket(i)]++ >= 8 && buckets < 64)
        grow(i + 1);
      if ((i + 1) * 4 > buckets * 3)
        grow(i + 1);
    }
    std::vector<size_t> order(hashes.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::ranges::stable_sort(order, {}, bucket);
    return order;
  }

private:
  size_t buckets = 16;
};

} // namespace headrace::script
