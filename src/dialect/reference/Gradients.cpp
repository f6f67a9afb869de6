// Reference evaluation of the operators that gradients are made of.
#include "dialect/reference/SlidingWindow.h"

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

Tensor ConvFilterOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor image = channelsFirst(inputs[0], getLayout());
  Tensor output = channelsFirst(inputs[1], getLayout());
  Tensor filter = Tensor::allocate(DType::F64, resultShape(getResult(), symbols));
  bool last = getLayout() == ChannelLayout::Last;
  if (last)
    filter = filterFeaturesFirst(filter);
  SlidingWindow window{Sizes(image.shape()).drop_front(2),
                       Sizes(output.shape()).drop_front(2),
                       Sizes(filter.shape()).drop_front(2),
                       getStrides(),
                       getDilations(),
                       getPads().take_front(image.shape().size() - 2)};
  int64_t images = image.shape()[0], channels = image.shape()[1], features = output.shape()[1];
  int64_t groupChannels = filter.shape()[1], groupFeatures = features / getGroups();
  int64_t imageSize = product(window.input), positions = window.positions();
  double *to = filter.as<double>();
  std::fill_n(to, filter.elements(), 0.0);
  forEachTap(window, [&](int64_t tap, const std::vector<int64_t> &elements) {
    for (int64_t n = 0; n < images; ++n)
      for (int64_t f = 0; f < features; ++f)
        for (int64_t c = 0; c < groupChannels; ++c) {
          int64_t channel = f / groupFeatures * groupChannels + c;
          const double *x = image.as<double>() + (n * channels + channel) * imageSize;
          const double *y = output.as<double>() + (n * features + f) * positions;
          double total = 0;
          for (int64_t p = 0; p < positions; ++p)
            if (elements[p] >= 0)
              total += x[elements[p]] * y[p];
          to[(f * groupChannels + c) * window.taps() + tap] += total;
        }
  });
  return last ? filterFeaturesLast(filter) : filter;
}

Tensor PoolIndexOp::evaluate(Tensors inputs, Sizes) {
  Tensor image = channelsFirst(inputs[0], getLayout());
  Tensor maximum = channelsFirst(inputs[1], getLayout());
  const Tensor &positions = inputs[2];
  Tensor result = Tensor::allocate(DType::I64, maximum.shape());
  SlidingWindow window{Sizes(image.shape()).drop_front(2),
                       Sizes(maximum.shape()).drop_front(2),
                       positions.shape(),
                       getStrides(),
                       getDilations(),
                       getPads().take_front(image.shape().size() - 2)};
  int64_t planes = product(Sizes(image.shape()).take_front(2)), imageSize = product(window.input);
  int64_t *out = result.as<int64_t>();
  std::fill_n(out, result.elements(), std::numeric_limits<int32_t>::max());
  forEachTap(window, [&](int64_t tap, const std::vector<int64_t> &elements) {
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t p = 0; p < window.positions(); ++p) {
        int64_t at = plane * window.positions() + p;
        if (elements[p] < 0)
          continue;
        double x = image.as<double>()[plane * imageSize + elements[p]];
        double best = maximum.as<double>()[at];
        if (!(x < best || x > best))
          out[at] = std::min(out[at], positions.as<int64_t>()[tap]);
      }
  });
  bool last = getLayout() == ChannelLayout::Last;
  return last ? permuted(result, secondToLast(result.shape().size())) : result;
}

Tensor UnpoolOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor held = channelsFirst(inputs[0], getLayout());
  Tensor indices = getIndices() ? channelsFirst(inputs[1], getLayout()) : Tensor();
  Tensor result =
      Tensor::allocate(DType::F64, channelsFirst(resultShape(getResult(), symbols), getLayout()));
  SlidingWindow window{Sizes(result.shape()).drop_front(2),
                       Sizes(held.shape()).drop_front(2),
                       getWindow(),
                       getStrides(),
                       getDilations(),
                       getPads().take_front(getWindow().size())};
  int64_t planes = product(Sizes(result.shape()).take_front(2)), imageSize = product(window.input);
  double *out = result.as<double>();
  std::fill_n(out, result.elements(), 0.0);
  forEachTap(window, [&](int64_t tap, const std::vector<int64_t> &elements) {
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t p = 0; p < window.positions(); ++p) {
        int64_t at = plane * window.positions() + p;
        if (elements[p] >= 0 && (!indices || indices.as<int64_t>()[at] == tap))
          out[plane * imageSize + elements[p]] += held.as<double>()[at];
      }
  });
  bool last = getLayout() == ChannelLayout::Last;
  return last ? permuted(result, secondToLast(result.shape().size())) : result;
}

Tensor PlaceOp::evaluate(Tensors inputs, Sizes symbols) {
  Tensor result = allocateResult(getResult(), symbols);
  withElement(result.dtype(), [&](auto zero) {
    std::fill_n(result.as<decltype(zero)>(), result.elements(), zero);
  });
  if (inputs[0].elements() == 0)
    return result;
  Placement target{0, rowMajorStrides(result.shape())};
  for (auto [i, size] : llvm::enumerate(inputs[0].shape())) {
    int64_t start = evaluateSize(getStarts().getResult(i), symbols);
    if (start < 0 || start + (size - 1) * getSteps()[i] >= result.shape()[i])
      throw Error(ErrorKind::ShapeMismatch, operatorName(*this) + ": expected room for " +
                                                std::to_string(size) +
                                                " elements along dimension " + std::to_string(i) +
                                                ", found " + std::to_string(result.shape()[i]));
    target.offset += start * target.strides[i];
    target.strides[i] *= getSteps()[i];
  }
  copyBlock(inputs[0].shape(), inputs[0], {0, rowMajorStrides(inputs[0].shape())}, result, target);
  return result;
}

Tensor ScatterAddOp::evaluate(Tensors inputs, Sizes symbols) {
  const Tensor &updates = inputs[0];
  Tensor indices = inputs[1].converted(DType::I64);
  Tensor result = allocateResult(getResult(), symbols);
  int64_t outer = updates.shape()[0], count = updates.shape()[1], inner = updates.shape()[2];
  int64_t size = result.shape()[1];
  double *to = result.as<double>();
  std::fill_n(to, result.elements(), 0.0);
  if (result.elements() == 0)
    return result;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < count; ++i) {
      int64_t index = indices.as<int64_t>()[i];
      index = std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
      for (int64_t j = 0; j < inner; ++j)
        to[(o * size + index) * inner + j] += updates.as<double>()[(o * count + i) * inner + j];
    }
  return result;
}

} // namespace headrace::hr
