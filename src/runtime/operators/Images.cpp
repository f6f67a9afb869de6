// Images in files: bytes in, and as many pixels out as the file says.
#include "runtime/operators/HostOperators.h"
#include "runtime/system/Text.h"

#include "image/Decode.h"
#include <cstring>

namespace headrace::operators {

using Values = std::vector<RuntimeValue>;

/// ITU-R 601's weights of red, green and blue, in 16 bits behind the point.
static uint8_t luminance(const uint8_t *rgb) {
  return static_cast<uint8_t>((19595 * rgb[0] + 38470 * rgb[1] + 7471 * rgb[2] + 32768) >> 16);
}

/// A file that cannot be decoded is an empty image, as the standard has it.
static image::Picture decoded(HostCall &c) {
  const Tensor &file = c.tensor(0);
  if (file.dtype() != DType::U8 || file.shape().size() != 1)
    c.fail(ErrorKind::TypeMismatch,
           c.nameOfInput(0) + ": expected a list of bytes, got " + describe(c.input(0)));
  try {
    std::optional<image::Picture> found =
        image::decode({file.as<uint8_t>(), static_cast<size_t>(file.elements())});
    return found ? std::move(*found) : image::Picture(0, 0);
  } catch (const Error &error) {
    c.fail(error.kind(), error.what());
  }
}

static Values imageDecoder(HostCall &c) {
  std::string format = c.node.getString("pixel_format", "RGB");
  bool isGray = format == "Grayscale";
  if (!isGray && format != "RGB" && format != "BGR")
    c.fail(ErrorKind::InvalidModel, "attribute 'pixel_format': expected RGB, BGR or Grayscale, "
                                    "got " +
                                        inQuotes(format));
  image::Picture picture = decoded(c);
  Tensor result = Tensor::allocate(DType::U8, {picture.height, picture.width, isGray ? 1 : 3});
  auto *out = result.as<uint8_t>();
  const uint8_t *rgb = picture.rgb.data();
  size_t bytes = picture.rgb.size();
  if (isGray) {
    for (size_t at = 0; at < bytes; at += 3)
      *out++ = luminance(rgb + at);
  } else if (format == "BGR") {
    for (size_t at = 0; at < bytes; ++at)
      out[at] = rgb[at + 2 - 2 * (at % 3)];
  } else if (bytes > 0) {
    std::memcpy(out, rgb, bytes);
  }
  return {result};
}

HostFamily imageOperators() {
  static const HostOperator table[] = {{"", "ImageDecoder", 20, imageDecoder}};
  return table;
}

} // namespace headrace::operators
