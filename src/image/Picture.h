// Image decoding: files in, pixels out. JPEG, JPEG 2000, PNG, WebP and TIFF are decoded by the
// system's libraries, loaded when the first image of their format comes; BMP and portable maps
// are read here. Files may be anybody's: none crashes, or takes more memory than the largest
// image allowed.
#pragma once

#include <cstdint>
#include <optional>
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

/// Nothing if the bytes are in no known format, or damaged. Throws Error if the image is
/// too large, or the library for its format is not on this system.
std::optional<Picture> decode(Bytes file);

} // namespace headrace::image
