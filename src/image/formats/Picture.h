// An image in memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headrace::image {

using Bytes = std::span<const uint8_t>;

/// Red, green and blue of each pixel, row by row from the top. Transparency is dropped.
struct Picture {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> rgb;

  /// All black. Throws Error if it has more than `kMaxPixels`.
  Picture(int64_t height, int64_t width);
};

inline constexpr int64_t kMaxPixels = int64_t(1) << 27;

} // namespace headrace::image
