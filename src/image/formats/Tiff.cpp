#include "image/formats/Formats.h"
#include "image/formats/SystemLibrary.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <memory>
#include <tiffio.h>

namespace headrace::image {

namespace {

struct Tiff {
  decltype(TIFFOpenOptionsAlloc) *makeOptions;
  decltype(TIFFOpenOptionsFree) *freeOptions;
  decltype(TIFFOpenOptionsSetMaxSingleMemAlloc) *limitMemory;
  decltype(TIFFOpenOptionsSetErrorHandlerExtR) *onError;
  decltype(TIFFOpenOptionsSetWarningHandlerExtR) *onWarning;
  decltype(TIFFClientOpenExt) *open;
  decltype(TIFFClose) *close;
  decltype(TIFFGetField) *field;
  decltype(TIFFReadRGBAImageOriented) *read;

  Tiff() {
    SystemLibrary library("TIFF", "libtiff.so.6", "libtiff6");
    library.find(makeOptions, "TIFFOpenOptionsAlloc");
    library.find(freeOptions, "TIFFOpenOptionsFree");
    library.find(limitMemory, "TIFFOpenOptionsSetMaxSingleMemAlloc");
    library.find(onError, "TIFFOpenOptionsSetErrorHandlerExtR");
    library.find(onWarning, "TIFFOpenOptionsSetWarningHandlerExtR");
    library.find(open, "TIFFClientOpenExt");
    library.find(close, "TIFFClose");
    library.find(field, "TIFFGetField");
    library.find(read, "TIFFReadRGBAImageOriented");
  }
};

/// The file as the library reads it.
struct Reader {
  Bytes file;
  uint64_t at = 0;

  static tmsize_t read(thandle_t self, void *into, tmsize_t size) {
    auto &reader = *static_cast<Reader *>(self);
    uint64_t left = reader.file.size() - std::min<uint64_t>(reader.at, reader.file.size());
    uint64_t count = std::min<uint64_t>(size < 0 ? 0 : size, left);
    if (count > 0)
      std::memcpy(into, reader.file.data() + reader.at, count);
    reader.at += count;
    return static_cast<tmsize_t>(count);
  }
  static tmsize_t write(thandle_t, void *, tmsize_t) { return 0; }
  static toff_t seek(thandle_t self, toff_t offset, int whence) {
    auto &reader = *static_cast<Reader *>(self);
    uint64_t from = whence == SEEK_CUR ? reader.at : whence == SEEK_END ? reader.file.size() : 0;
    return reader.at = from + offset;
  }
  static int close(thandle_t) { return 0; }
  static toff_t size(thandle_t self) { return static_cast<Reader *>(self)->file.size(); }
  static int map(thandle_t, void **, toff_t *) { return 0; } // no: it is read
  static void unmap(thandle_t, void *, toff_t) {}
};

/// Otherwise the library prints.
int ignore(TIFF *, void *, const char *, const char *, va_list) { return 1; }

} // namespace

std::optional<Picture> decodeTiff(Bytes file) {
  static const Tiff tiff;
  std::unique_ptr<TIFFOpenOptions, decltype(TIFFOpenOptionsFree) *> options(tiff.makeOptions(),
                                                                            tiff.freeOptions);
  if (!options)
    return std::nullopt;
  tiff.limitMemory(options.get(), 4 * kMaxPixels);
  tiff.onError(options.get(), ignore, nullptr);
  tiff.onWarning(options.get(), ignore, nullptr);
  Reader reader{file};
  std::unique_ptr<TIFF, decltype(TIFFClose) *> open(
      tiff.open("picture", "rm", &reader, Reader::read, Reader::write, Reader::seek, Reader::close,
                Reader::size, Reader::map, Reader::unmap, options.get()),
      tiff.close);
  uint32_t width = 0, height = 0;
  if (!open || !tiff.field(open.get(), TIFFTAG_IMAGEWIDTH, &width) ||
      !tiff.field(open.get(), TIFFTAG_IMAGELENGTH, &height) || width == 0 || height == 0)
    return std::nullopt;
  Picture result(height, width);
  std::vector<uint32_t> pixels(result.rgb.size() / 3);
  if (!tiff.read(open.get(), width, height, pixels.data(), ORIENTATION_TOPLEFT, /*stop=*/1))
    return std::nullopt;
  for (size_t i = 0; i < pixels.size(); ++i) {
    result.rgb[3 * i] = TIFFGetR(pixels[i]);
    result.rgb[3 * i + 1] = TIFFGetG(pixels[i]);
    result.rgb[3 * i + 2] = TIFFGetB(pixels[i]);
  }
  return result;
}

} // namespace headrace::image
