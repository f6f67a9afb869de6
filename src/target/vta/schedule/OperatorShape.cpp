#include "target/vta/schedule/OperatorShape.h"

#include <algorithm>

namespace headrace::vta {

namespace {

// The blocks of input channels that each block of output channels reads. Groups that do not fill
// blocks share them; weights between channels of different groups are zeros.
void setGroups(OperatorShape &shape, const Operator &op, const Convolution &convolution,
               int64_t block) {
  int64_t channels = convolution.weights.shape()[0];
  int64_t outPerGroup = channels / convolution.groups,
          inPerGroup = op.input.channels / convolution.groups;
  shape.families.clear();
  shape.depth = 1;
  for (int64_t o = 0; o < shape.out; ++o) {
    int64_t first = o * block / outPerGroup,
            last = (std::min((o + 1) * block, channels) - 1) / outPerGroup;
    int64_t begin = first * inPerGroup / block, end = dividedUp((last + 1) * inPerGroup, block);
    shape.depth = std::max(shape.depth, end - begin);
    if (!shape.families.empty() && shape.families.back().firstIn == begin)
      shape.families.back().end = o + 1;
    else
      shape.families.push_back({o, o + 1, begin});
  }
  // All results are sums over as many blocks.
  for (Family &family : shape.families)
    family.firstIn = std::min(family.firstIn, shape.in - shape.depth);
}

void setWindows(OperatorShape &shape, const Sliding &sliding, int64_t windowY, int64_t windowX) {
  shape.windowY = windowY;
  shape.windowX = windowX;
  shape.strideY = sliding.strideY;
  shape.strideX = sliding.strideX;
  shape.padTop = sliding.padTop;
  shape.padLeft = sliding.padLeft;
}

} // namespace

OperatorShape::OperatorShape(const Operator &op, const Configuration &configuration)
    : multiplies(std::holds_alternative<Convolution>(op.core)),
      pools(std::holds_alternative<MaxPool>(op.core)),
      batch(dividedUp(op.input.batch, configuration.batch())),
      out(dividedUp(op.result().channels, configuration.block())),
      in(dividedUp(op.input.channels, configuration.block())), depth(1), height(op.result().height),
      width(op.result().width), inputHeight(op.input.height), inputWidth(op.input.width),
      families{{0, out, 0}} {
  if (const auto *convolution = std::get_if<Convolution>(&op.core)) {
    const Shape &weights = convolution->weights.shape();
    setWindows(*this, *convolution, weights[2], weights[3]);
    setGroups(*this, op, *convolution, configuration.block());
  } else if (const auto *pool = std::get_if<MaxPool>(&op.core)) {
    setWindows(*this, *pool, pool->windowY, pool->windowX);
  }
  for (const Family &family : families)
    largestFamily = std::max(largestFamily, family.end - family.begin);
}

} // namespace headrace::vta
