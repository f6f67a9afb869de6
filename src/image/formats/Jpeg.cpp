#include "image/formats/Formats.h"
#include "image/formats/SystemLibrary.h"
#include <memory>
#include <string_view>
#include <turbojpeg.h>

namespace headrace::image {

namespace {

struct TurboJpeg {
  decltype(tjInitDecompress) *open;
  decltype(tjDestroy) *close;
  decltype(tjDecompressHeader3) *readHeader;
  decltype(tjDecompress2) *decompress;
  decltype(tjGetErrorStr2) *message;
  decltype(tjGetErrorCode) *severity;

  TurboJpeg() {
    SystemLibrary library("JPEG", "libturbojpeg.so.0", "libturbojpeg0");
    library.find(open, "tjInitDecompress");
    library.find(close, "tjDestroy");
    library.find(readHeader, "tjDecompressHeader3");
    library.find(decompress, "tjDecompress2");
    library.find(message, "tjGetErrorStr2");
    library.find(severity, "tjGetErrorCode");
  }
};

/// Cameras leave stray bytes between parts; everything else that is warned of is damage.
bool isHarmless(const TurboJpeg &jpeg, tjhandle handle) {
  return jpeg.severity(handle) == TJERR_WARNING &&
         std::string_view(jpeg.message(handle)).find("extraneous bytes") != std::string_view::npos;
}

/// Ink is stored inverted, as Adobe began to.
void addRgbOfInk(std::span<const uint8_t> inks, std::vector<uint8_t> &rgb) {
  for (size_t pixel = 0; 4 * pixel < inks.size(); ++pixel)
    for (size_t c = 0; c < 3; ++c)
      rgb[3 * pixel + c] =
          static_cast<uint8_t>((inks[4 * pixel + c] * inks[4 * pixel + 3] + 127) / 255);
}

} // namespace

std::optional<Picture> decodeJpeg(Bytes file) {
  static const TurboJpeg jpeg;
  std::unique_ptr<void, decltype(tjDestroy) *> handle(jpeg.open(), jpeg.close);
  int width = 0, height = 0, sampling = 0, space = 0;
  if (!handle || jpeg.readHeader(handle.get(), file.data(), file.size(), &width, &height, &sampling,
                                 &space) != 0)
    return std::nullopt;
  Picture result(height, width);
  bool isOfInks = space == TJCS_CMYK || space == TJCS_YCCK;
  std::vector<uint8_t> inks(isOfInks ? 4 * static_cast<size_t>(width) * height : 0);
  bool failed = jpeg.decompress(handle.get(), file.data(), file.size(),
                                isOfInks ? inks.data() : result.rgb.data(), width, /*pitch=*/0,
                                height, isOfInks ? TJPF_CMYK : TJPF_RGB, TJFLAG_LIMITSCANS) != 0;
  if (failed && !isHarmless(jpeg, handle.get()))
    return std::nullopt;
  addRgbOfInk(inks, result.rgb);
  return result;
}

} // namespace headrace::image
