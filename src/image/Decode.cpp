#include "image/Decode.h"

#include "image/formats/Formats.h"
#include <string_view>

namespace headrace::image {

namespace {

using namespace std::string_view_literals;

struct Format {
  std::string_view begin; // of its files; '?' is any byte
  std::optional<Picture> (*decode)(Bytes);
};

const Format kFormats[] = {
    {"\xFF\xD8\xFF"sv, decodeJpeg},
    {"\x89PNG\r\n\x1A\n"sv, decodePng},
    {"RIFF????WEBP"sv, decodeWebP},
    {"II*\0"sv, decodeTiff},
    {"MM\0*"sv, decodeTiff},
    {"II+\0"sv, decodeTiff}, // files larger than 4 GB
    {"MM\0+"sv, decodeTiff},
    {"\0\0\0\x0CjP  \r\n\x87\n"sv, decodeJpeg2000},
    {"\xFF\x4F\xFF\x51"sv, decodeJpeg2000}, // without a container
    {"BM"sv, decodeBmp},
    {"P1"sv, decodePortableMap},
    {"P2"sv, decodePortableMap},
    {"P3"sv, decodePortableMap},
    {"P4"sv, decodePortableMap},
    {"P5"sv, decodePortableMap},
    {"P6"sv, decodePortableMap},
};

bool begins(Bytes file, std::string_view pattern) {
  if (file.size() < pattern.size())
    return false;
  for (size_t i = 0; i < pattern.size(); ++i)
    if (pattern[i] != '?' && static_cast<uint8_t>(pattern[i]) != file[i])
      return false;
  return true;
}

} // namespace

std::optional<Picture> decode(Bytes file) {
  for (const Format &format : kFormats)
    if (begins(file, format.begin))
      return format.decode(file);
  return std::nullopt;
}

} // namespace headrace::image
