#include "image/formats/Formats.h"
#include "image/formats/SystemLibrary.h"
#include <webp/decode.h>

namespace headrace::image {

namespace {

struct WebP {
  decltype(WebPGetInfo) *size;
  decltype(WebPDecodeRGBInto) *decode;

  WebP() {
    SystemLibrary library("WebP", "libwebp.so.7", "libwebp7");
    library.find(size, "WebPGetInfo");
    library.find(decode, "WebPDecodeRGBInto");
  }
};

} // namespace

std::optional<Picture> decodeWebP(Bytes file) {
  static const WebP webp;
  int width = 0, height = 0;
  if (!webp.size(file.data(), file.size(), &width, &height))
    return std::nullopt;
  Picture result(height, width);
  if (!webp.decode(file.data(), file.size(), result.rgb.data(), result.rgb.size(), 3 * width))
    return std::nullopt;
  return result;
}

} // namespace headrace::image
