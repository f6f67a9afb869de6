#include "runtime/system/Error.h"

#include "image/formats/Formats.h"
#include <array>
#include <bit>
#include <string>

namespace headrace::image {

namespace {

/// Numbers at offsets of the file, little-endian; 0 behind its end.
struct Fields {
  Bytes file;
  uint32_t byte(size_t at) const { return at < file.size() ? file[at] : 0; }
  uint32_t u16(size_t at) const { return byte(at) | byte(at + 1) << 8; }
  uint32_t u32(size_t at) const { return u16(at) | u16(at + 2) << 16; }
  int64_t i32(size_t at) const { return static_cast<int32_t>(u32(at)); }
};

enum Compression : uint32_t { None = 0, Masks = 3, MasksWithAlpha = 6 };

/// The bits of a pixel that one color has, scaled to a byte.
struct Channel {
  uint32_t mask = 0;
  uint8_t of(uint32_t pixel) const {
    if (mask == 0)
      return 0;
    uint64_t most = mask >> std::countr_zero(mask);
    uint64_t value = (pixel & mask) >> std::countr_zero(mask);
    return static_cast<uint8_t>((value * 255 + most / 2) / most);
  }
};

struct Header {
  int64_t width, height;
  bool fromTop;
  uint32_t bits, compression;
  size_t pixels, palette, paletteEntry, paletteSize;
  std::array<Channel, 3> channels;
};

constexpr size_t kFileHeader = 14, kOldHeader = 12, kHeader = 40;

std::optional<Header> readHeader(const Fields &fields) {
  size_t size = fields.u32(kFileHeader);
  bool isOld = size == kOldHeader;
  if ((!isOld && size < kHeader) || size > 1000 || fields.file.size() < kFileHeader + size)
    return std::nullopt;
  Header header{};
  header.pixels = fields.u32(10);
  header.width = isOld ? fields.u16(18) : fields.i32(18);
  int64_t height = isOld ? fields.u16(20) : fields.i32(22);
  header.height = height < 0 ? -height : height;
  header.fromTop = height < 0;
  header.bits = fields.u16(isOld ? 24 : 28);
  header.compression = isOld ? None : fields.u32(30);
  bool hasMasks = header.compression == Masks || header.compression == MasksWithAlpha;
  if (header.compression != None && !hasMasks)
    throw Error(ErrorKind::Unsupported, "expected an uncompressed BMP image, got one "
                                        "of kind " +
                                            std::to_string(header.compression));
  for (size_t c = 0; c < 3; ++c) {
    static constexpr uint32_t of16[] = {0x7C00, 0x03E0, 0x001F};
    static constexpr uint32_t of32[] = {0xFF0000, 0xFF00, 0xFF};
    header.channels[c].mask = hasMasks            ? fields.u32(kFileHeader + kHeader + 4 * c)
                              : header.bits == 16 ? of16[c]
                                                  : of32[c];
  }
  // The masks of a short header are behind it, where else the palette is.
  header.palette = kFileHeader + size + (hasMasks && size == kHeader ? 12 : 0);
  header.paletteEntry = isOld ? 3 : 4;
  header.paletteSize = header.bits <= 8 ? size_t(1) << header.bits : 0;
  if (uint32_t used = isOld ? 0 : fields.u32(46); used > 0 && used < header.paletteSize)
    header.paletteSize = used;
  return header;
}

} // namespace

std::optional<Picture> decodeBmp(Bytes file) {
  Fields fields{file};
  std::optional<Header> header = readHeader(fields);
  if (!header || header->width <= 0 || header->height <= 0)
    return std::nullopt;
  uint32_t bits = header->bits;
  bool isKnown = bits == 1 || bits == 4 || bits == 8 || bits == 16 || bits == 24 || bits == 32;
  size_t rowBytes = (static_cast<size_t>(header->width) * bits + 31) / 32 * 4;
  // Before any memory is taken: a file without the pixels that it announces.
  if (!isKnown || header->pixels > file.size() ||
      rowBytes > (file.size() - header->pixels) / static_cast<size_t>(header->height))
    return std::nullopt;
  Picture result(header->height, header->width);
  uint8_t *out = result.rgb.data();
  for (int64_t y = 0; y < header->height; ++y) {
    int64_t stored = header->fromTop ? y : header->height - 1 - y;
    size_t row = header->pixels + static_cast<size_t>(stored) * rowBytes;
    for (int64_t x = 0; x < header->width; ++x, out += 3) {
      size_t at = row + static_cast<size_t>(x) * bits / 8;
      if (bits <= 8) {
        uint32_t shift = 8 - bits - static_cast<uint32_t>(x * bits % 8);
        uint32_t color = fields.byte(at) >> shift & ((1u << bits) - 1);
        if (color >= header->paletteSize)
          return std::nullopt;
        for (size_t c = 0; c < 3; ++c) // blue comes first
          out[c] = static_cast<uint8_t>(
              fields.byte(header->palette + color * header->paletteEntry + 2 - c));
      } else {
        uint32_t pixel = bits == 16   ? fields.u16(at)
                         : bits == 24 ? fields.u16(at) | fields.byte(at + 2) << 16
                                      : fields.u32(at);
        for (size_t c = 0; c < 3; ++c)
          out[c] = header->channels[c].of(pixel);
      }
    }
  }
  return result;
}

} // namespace headrace::image
