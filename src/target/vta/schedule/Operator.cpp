#include "target/vta/schedule/Operator.h"

#include <array>

namespace headrace::vta {

namespace {

int64_t resultsAlong(int64_t size, int64_t pads, int64_t window, int64_t stride) {
  return size + pads < window ? 0 : (size + pads - window) / stride + 1;
}

} // namespace

Layout layoutOf(const Image &, const Configuration &configuration) {
  std::array<int64_t, 4> blocks = {configuration.batch(), configuration.block(), 1, 1};
  return blockedLayout(blocks);
}

Image Operator::result() const {
  Image image = input;
  if (const auto *convolution = std::get_if<Convolution>(&core)) {
    const Shape &weights = convolution->weights.shape();
    image.channels = weights[0];
    image.height = resultsAlong(input.height, convolution->padTop + convolution->padBottom,
                                weights[2], convolution->strideY);
    image.width = resultsAlong(input.width, convolution->padLeft + convolution->padRight,
                               weights[3], convolution->strideX);
  } else if (const auto *pool = std::get_if<MaxPool>(&core)) {
    image.height =
        resultsAlong(input.height, pool->padTop + pool->padBottom, pool->windowY, pool->strideY);
    image.width =
        resultsAlong(input.width, pool->padLeft + pool->padRight, pool->windowX, pool->strideX);
  }
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
