#include "image/formats/Formats.h"
#include "image/formats/SystemLibrary.h"
#include <algorithm>
#include <png.h>
#include <string_view>

namespace headrace::image {

namespace {

struct Png {
  decltype(png_image_begin_read_from_memory) *begin;
  decltype(png_image_finish_read) *finish;
  decltype(png_image_free) *free;

  Png() {
    SystemLibrary library("PNG", "libpng16.so.16", "libpng16-16");
    library.find(begin, "png_image_begin_read_from_memory");
    library.find(finish, "png_image_finish_read");
    library.find(free, "png_image_free");
  }
};

/// A file that is open; the library keeps its state in a structure of the caller.
struct OpenFile {
  const Png &png;
  png_image image{};
  explicit OpenFile(const Png &png) : png(png) { image.version = PNG_IMAGE_VERSION; }
  ~OpenFile() { png.free(&image); }
  OpenFile(const OpenFile &) = delete;
  OpenFile &operator=(const OpenFile &) = delete;
};

/// The parts that hold pixels. The others would have the library convert colors, which decoders of
/// this operator do not, and unpack texts.
std::vector<uint8_t> pixelsAlone(Bytes file) {
  constexpr size_t signature = 8, around = 12; // length, name and checksum of a part
  std::vector<uint8_t> result(file.begin(), file.begin() + signature);
  for (Bytes rest = file.subspan(signature); rest.size() >= around;) {
    size_t length = size_t(rest[0]) << 24 | rest[1] << 16 | rest[2] << 8 | rest[3];
    Bytes part = rest.first(std::min(rest.size(), length + around));
    std::string_view name(reinterpret_cast<const char *>(part.data()) + 4, 4);
    if (name == "IHDR" || name == "PLTE" || name == "tRNS" || name == "IDAT" || name == "IEND")
      result.insert(result.end(), part.begin(), part.end());
    rest = rest.subspan(part.size());
  }
  return result;
}

} // namespace

std::optional<Picture> decodePng(Bytes whole) {
  static const Png png;
  std::vector<uint8_t> file = pixelsAlone(whole);
  OpenFile open(png);
  if (!png.begin(&open.image, file.data(), file.size()))
    return std::nullopt;
  Picture result(open.image.height, open.image.width);
  // With transparency, so that it can be dropped: without, the library mixes with a background.
  open.image.format = PNG_FORMAT_RGBA;
  open.image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; // else more bits are taken for other colors
  std::vector<uint8_t> pixels(result.rgb.size() / 3 * 4);
  if (!png.finish(&open.image, nullptr, pixels.data(), /*row_stride=*/0, nullptr))
    return std::nullopt;
  for (size_t pixel = 0; 4 * pixel < pixels.size(); ++pixel)
    for (size_t c = 0; c < 3; ++c)
      result.rgb[3 * pixel + c] = pixels[4 * pixel + c];
  return result;
}

} // namespace headrace::image
