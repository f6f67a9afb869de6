#include "image/formats/Picture.h"

#include "runtime/system/Error.h"

namespace headrace::image {

Picture::Picture(int64_t height, int64_t width) : height(height), width(width) {
  if (height < 0 || width < 0 || (width > 0 && height > kMaxPixels / width))
    throw Error(ErrorKind::Unsupported, "expected an image of at most " +
                                            std::to_string(kMaxPixels) + " pixels, got one of " +
                                            std::to_string(width) + " x " + std::to_string(height));
  rgb.resize(static_cast<size_t>(3 * height * width));
}

} // namespace headrace::image
