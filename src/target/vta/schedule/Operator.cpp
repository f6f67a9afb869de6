#include "target/vta/schedule/Operator.h"

#include <array>

namespace headrace::vta {

namespace {

int64_t resultsAlong(int64_t size, int64_t pads, int64_t window, int64_t stride) {
  return size + pads < window ? 0 : (size + pads - window) / stride + 1;
}

/// The places of windows of this size in an image.
Image windowsIn(Image image, const Sliding &sliding, int64_t windowY, int64_t windowX) {
  image.height =
      resultsAlong(image.height, sliding.padTop + sliding.padBottom, windowY, sliding.strideY);
  image.width =
      resultsAlong(image.width, sliding.padLeft + sliding.padRight, windowX, sliding.strideX);
  return image;
}

} // namespace

Layout layoutOf(const Image &, const Configuration &configuration) {
  std::array<int64_t, 4> blocks = {configuration.batch(), configuration.block(), 1, 1};
  return blockedLayout(blocks);
}

Image Operator::result() const {
  if (const auto *pool = std::get_if<MaxPool>(&core))
    return windowsIn(input, *pool, pool->windowY, pool->windowX);
  const auto *convolution = std::get_if<Convolution>(&core);
  if (convolution == nullptr)
    return input;
  const Shape &weights = convolution->weights.shape();
  Image image = windowsIn(input, *convolution, weights[2], weights[3]);
  image.channels = weights[0];
  return image;
}

int64_t Operator::macs() const {
  const auto *convolution = std::get_if<Convolution>(&core);
  if (convolution == nullptr)
    return 0;
  Image image = result();
  const Shape &weights = convolution->weights.shape();
  return image.batch * image.channels * image.height * image.width * weights[1] * weights[2] *
         weights[3];
}

} // namespace headrace::vta
