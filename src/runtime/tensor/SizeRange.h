#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>

namespace headrace {

/// Values of a dynamic dimension, both ends included.
struct SizeRange {
  int64_t least = 0, most = INT64_MAX;

  bool contains(int64_t size) const { return least <= size && size <= most; }
  bool isOneSize() const { return least == most; }
  /// Leaves of it the side of `other` that the size lies on; nothing changes if it is inside.
  void moveBeside(const SizeRange &other, int64_t size) {
    if (size < other.least)
      most = std::min(most, other.least - 1);
    if (size > other.most)
      least = std::max(least, other.most + 1);
  }
  friend bool operator==(const SizeRange &, const SizeRange &) = default;
};

/// The ranges of named dimensions; a dimension without one may have any value.
using SizeRanges = std::map<std::string, SizeRange>;

} // namespace headrace
