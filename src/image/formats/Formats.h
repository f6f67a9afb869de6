// One function for each format: nothing if the file is damaged.
#pragma once

#include "image/formats/Picture.h"
#include <optional>

namespace headrace::image {

std::optional<Picture> decodeBmp(Bytes file);
std::optional<Picture> decodeJpeg(Bytes file);
std::optional<Picture> decodeJpeg2000(Bytes file);
std::optional<Picture> decodePng(Bytes file);
std::optional<Picture> decodePortableMap(Bytes file);
std::optional<Picture> decodeTiff(Bytes file);
std::optional<Picture> decodeWebP(Bytes file);

} // namespace headrace::image
