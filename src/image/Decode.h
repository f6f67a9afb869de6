// Image decoding: files in, pixels out. JPEG, JPEG 2000, PNG, WebP and TIFF are decoded by the
// system's libraries, loaded when the first image of their format comes; BMP and portable maps
// are read here. Files may be anybody's: none crashes, or takes more memory than the largest
// image allowed.
#pragma once

#include "image/formats/Picture.h"
#include <optional>

namespace headrace::image {

/// Nothing if the bytes are in no known format, or damaged. Throws Error if the image is
/// too large, or the library for its format is not on this system.
std::optional<Picture> decode(Bytes file);

} // namespace headrace::image
