#include "image/formats/Formats.h"
#include "image/formats/SystemLibrary.h"
#include <algorithm>
#include <cstring>
#include <memory>
#include <openjpeg.h>

namespace headrace::image {

namespace {

struct OpenJpeg {
  decltype(opj_stream_default_create) *makeStream;
  decltype(opj_stream_destroy) *freeStream;
  decltype(opj_stream_set_read_function) *setRead;
  decltype(opj_stream_set_skip_function) *setSkip;
  decltype(opj_stream_set_seek_function) *setSeek;
  decltype(opj_stream_set_user_data) *setData;
  decltype(opj_stream_set_user_data_length) *setLength;
  decltype(opj_create_decompress) *makeCodec;
  decltype(opj_destroy_codec) *freeCodec;
  decltype(opj_set_default_decoder_parameters) *setDefaults;
  decltype(opj_setup_decoder) *setUp;
  decltype(opj_read_header) *readHeader;
  decltype(opj_decode) *decode;
  decltype(opj_end_decompress) *finish;
  decltype(opj_image_destroy) *freeImage;

  OpenJpeg() {
    SystemLibrary library("JPEG 2000", "libopenjp2.so.7", "libopenjp2-7");
    library.find(makeStream, "opj_stream_default_create");
    library.find(freeStream, "opj_stream_destroy");
    library.find(setRead, "opj_stream_set_read_function");
    library.find(setSkip, "opj_stream_set_skip_function");
    library.find(setSeek, "opj_stream_set_seek_function");
    library.find(setData, "opj_stream_set_user_data");
    library.find(setLength, "opj_stream_set_user_data_length");
    library.find(makeCodec, "opj_create_decompress");
    library.find(freeCodec, "opj_destroy_codec");
    library.find(setDefaults, "opj_set_default_decoder_parameters");
    library.find(setUp, "opj_setup_decoder");
    library.find(readHeader, "opj_read_header");
    library.find(decode, "opj_decode");
    library.find(finish, "opj_end_decompress");
    library.find(freeImage, "opj_image_destroy");
  }
};

/// The file as the library reads it.
struct Reader {
  Bytes file;
  size_t at = 0;

  static OPJ_SIZE_T read(void *into, OPJ_SIZE_T size, void *self) {
    auto &reader = *static_cast<Reader *>(self);
    size_t count = std::min<size_t>(size, reader.file.size() - reader.at);
    if (count == 0)
      return static_cast<OPJ_SIZE_T>(-1);
    std::memcpy(into, reader.file.data() + reader.at, count);
    reader.at += count;
    return count;
  }
  static OPJ_OFF_T skip(OPJ_OFF_T count, void *self) {
    auto &reader = *static_cast<Reader *>(self);
    if (count < 0 || static_cast<size_t>(count) > reader.file.size() - reader.at)
      return -1;
    reader.at += static_cast<size_t>(count);
    return count;
  }
  static OPJ_BOOL seek(OPJ_OFF_T to, void *self) {
    auto &reader = *static_cast<Reader *>(self);
    if (to < 0 || static_cast<size_t>(to) > reader.file.size())
      return OPJ_FALSE;
    reader.at = static_cast<size_t>(to);
    return OPJ_TRUE;
  }
};

/// A component at a pixel of the image, from 0 to 255; components may have fewer samples.
int sampleAt(const opj_image_comp_t &component, int64_t x, int64_t y) {
  x = std::min<int64_t>(x / component.dx, component.w - 1);
  y = std::min<int64_t>(y / component.dy, component.h - 1);
  int64_t most = (int64_t(1) << component.prec) - 1;
  int64_t value = component.data[y * component.w + x];
  if (component.sgnd)
    value += int64_t(1) << (component.prec - 1);
  value = std::clamp<int64_t>(value, 0, most);
  // Components of more than 8 bits lose their low ones.
  return static_cast<int>(component.prec > 8 ? value >> (component.prec - 8) : value * 255 / most);
}

bool isReadable(const opj_image_comp_t &component) {
  return component.data && component.w > 0 && component.h > 0 && component.dx > 0 &&
         component.dy > 0 && component.prec >= 1 && component.prec <= 31;
}

uint8_t toByte(double value) { return static_cast<uint8_t>(std::clamp(value + 0.5, 0.0, 255.0)); }

void toRgb(const opj_image_t &image, Picture &picture) {
  bool isColored = image.numcomps >= 3;
  uint8_t *out = picture.rgb.data();
  for (int64_t y = 0; y < picture.height; ++y)
    for (int64_t x = 0; x < picture.width; ++x, out += 3) {
      int samples[3];
      for (int c = 0; c < 3; ++c)
        samples[c] = sampleAt(image.comps[isColored ? c : 0], x, y);
      if (isColored && image.color_space == OPJ_CLRSPC_SYCC) {
        double light = samples[0], blue = samples[1] - 128, red = samples[2] - 128;
        out[0] = toByte(light + 1.402 * red);
        out[1] = toByte(light - 0.344136 * blue - 0.714136 * red);
        out[2] = toByte(light + 1.772 * blue);
      } else {
        std::copy(samples, samples + 3, out);
      }
    }
}

} // namespace

std::optional<Picture> decodeJpeg2000(Bytes file) {
  static const OpenJpeg library;
  Reader reader{file};
  std::unique_ptr<opj_stream_t, decltype(opj_stream_destroy) *> stream(
      library.makeStream(/*isInput=*/OPJ_TRUE), library.freeStream);
  bool isBare = file[0] == 0xFF; // no container
  std::unique_ptr<opj_codec_t, decltype(opj_destroy_codec) *> codec(
      library.makeCodec(isBare ? OPJ_CODEC_J2K : OPJ_CODEC_JP2), library.freeCodec);
  if (!stream || !codec)
    return std::nullopt;
  library.setRead(stream.get(), Reader::read);
  library.setSkip(stream.get(), Reader::skip);
  library.setSeek(stream.get(), Reader::seek);
  library.setData(stream.get(), &reader, /*free=*/nullptr);
  library.setLength(stream.get(), file.size());

  opj_dparameters_t parameters;
  library.setDefaults(&parameters);
  opj_image_t *header = nullptr;
  bool isOpen = library.setUp(codec.get(), &parameters) &&
                library.readHeader(stream.get(), codec.get(), &header);
  std::unique_ptr<opj_image_t, decltype(opj_image_destroy) *> image(header, library.freeImage);
  if (!isOpen || !image || image->x1 <= image->x0 || image->y1 <= image->y0)
    return std::nullopt;
  Picture result(int64_t(image->y1) - image->y0, int64_t(image->x1) - image->x0);
  if (!library.decode(codec.get(), stream.get(), image.get()) ||
      !library.finish(codec.get(), stream.get()))
    return std::nullopt;
  bool isKnown = image->numcomps > 0 && image->color_space != OPJ_CLRSPC_CMYK &&
                 image->color_space != OPJ_CLRSPC_EYCC;
  if (!isKnown ||
      !std::all_of(image->comps, image->comps + std::min(image->numcomps, 3u), isReadable))
    return std::nullopt;
  toRgb(*image, result);
  return result;
}

} // namespace headrace::image
