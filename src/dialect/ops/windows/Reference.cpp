// Reference evaluation of convolution and pooling.
#include "dialect/ops/contraction/MatrixProduct.h"
#include "dialect/ops/windows/SlidingWindow.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

/// One image and one group: columns[c, tap][position] times filter[f][c, tap]. Channels are taken
/// in blocks so that the columns stay small.
template <class T>
static void convolveGroup(const SlidingWindow &window, int64_t channels, int64_t features,
                          const T *image, const T *filter, T *out) {
  int64_t taps = window.taps(), positions = window.positions(), imageSize = product(window.input);
  std::fill_n(out, features * positions, T{0});
  if (taps * positions == 0)
    return;
  int64_t block =
      std::clamp<int64_t>((1 << 21) / (taps * positions), 1, std::max<int64_t>(1, channels));
  for (int64_t first = 0; first < channels; first += block) {
    int64_t count = std::min(block, channels - first);
    std::vector<T> columns(count * taps * positions), weights;
    forEachTap(window, [&](int64_t t, const std::vector<int64_t> &elements) {
      for (int64_t c = 0; c < count; ++c) {
        const T *channel = image + (first + c) * imageSize;
        T *column = columns.data() + (c * taps + t) * positions;
        for (int64_t p = 0; p < positions; ++p)
          column[p] = elements[p] < 0 ? T{0} : channel[elements[p]];
      }
    });
    for (int64_t f = 0; f < features; ++f) {
      const T *from = filter + (f * channels + first) * taps;
      weights.insert(weights.end(), from, from + count * taps);
    }
    addMatrixProduct(features, positions, count * taps, weights.data(), columns.data(), out);
  }
}

/// Channels first throughout; T is double or uint64_t: integers wrap around.
template <class T>
static void convolve(const SlidingWindow &window, int64_t images, int64_t groups,
                     int64_t groupChannels, int64_t groupFeatures, const void *image,
                     const void *filter, void *out) {
  int64_t imageStep = groupChannels * product(window.input);
  int64_t filterStep = groupFeatures * groupChannels * window.taps();
  int64_t outStep = groupFeatures * window.positions();
  for (int64_t i = 0; i < images * groups; ++i)
    convolveGroup(window, groupChannels, groupFeatures,
                  static_cast<const T *>(image) + i * imageStep,
                  static_cast<const T *>(filter) + (i % groups) * filterStep,
                  static_cast<T *>(out) + i * outStep);
}

Tensor ConvOp::evaluate(Tensors inputs, Sizes symbols) {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  DType type = isa<FloatType>(element) ? DType::F64 : DType::I64;
  bool last = getLayout() == ChannelLayout::Last;
  int64_t rank = inputs[0].shape().size();
  Tensor image = getUnsignedInput() ? withoutSign(inputs[0], getInput()) : inputs[0];
  Tensor filter = getUnsignedFilter() ? withoutSign(inputs[1], getFilter()) : inputs[1];
  image = image.converted(type);
  filter = filter.converted(type);
  if (last) {
    image = permuted(image, lastToSecond(rank));
    filter = filterFeaturesFirst(filter);
  }
  Tensor out =
      Tensor::allocate(type, channelsFirst(resultShape(getResult(), symbols), getLayout()));
  SlidingWindow window{Sizes(image.shape()).drop_front(2),
                       Sizes(out.shape()).drop_front(2),
                       Sizes(filter.shape()).drop_front(2),
                       getStrides(),
                       getDilations(),
                       getPads().take_front(rank - 2)};
  auto run = type == DType::F64 ? convolve<double> : convolve<uint64_t>;
  run(window, image.shape()[0], getGroups(), filter.shape()[1], filter.shape()[0] / getGroups(),
      image.data(), filter.data(), out.data());
  if (last)
    out = permuted(out, secondToLast(rank));
  return type == DType::F64 ? out : wrapped(out, element);
}

template <class T> static T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    if (std::isnan(a))
      return a;
  return a >= b ? a : b; // b also if it is NaN
}

template <class T> static T smallest(Type element) {
  if constexpr (std::is_floating_point_v<T>)
    return -std::numeric_limits<T>::infinity();
  else if (element.isUnsignedInteger() || element.isInteger(1))
    return 0;
  else
    return llvm::minIntN(element.getIntOrFloatBitWidth());
}

template <class T>
static void poolMaximum(const SlidingWindow &window, int64_t planes, T lowest, const T *in,
                        T *out) {
  int64_t positions = window.positions(), imageSize = product(window.input);
  std::fill_n(out, planes * positions, lowest);
  forEachTap(window, [&](int64_t, const std::vector<int64_t> &elements) {
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t p = 0; p < positions; ++p)
        if (T &best = out[plane * positions + p]; elements[p] >= 0)
          best = larger(best, in[plane * imageSize + elements[p]]);
  });
}

/// Integers wrap around.
template <class T> static T sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

template <class T>
static void poolSum(const SlidingWindow &window, int64_t planes, const T *in, T *out) {
  int64_t positions = window.positions(), imageSize = product(window.input);
  std::fill_n(out, planes * positions, T{0});
  forEachTap(window, [&](int64_t, const std::vector<int64_t> &elements) {
    for (int64_t plane = 0; plane < planes; ++plane)
      for (int64_t p = 0; p < positions; ++p)
        if (T &total = out[plane * positions + p]; elements[p] >= 0)
          total = sum(total, in[plane * imageSize + elements[p]]);
  });
}

/// Divides by the number of elements under the window; padding counts if the operator says so.
template <class T>
static void poolAverage(const SlidingWindow &window, int64_t planes, bool includePad, const T *in,
                        T *out) {
  poolSum(window, planes, in, out);
  std::vector<int64_t> counts(window.positions(), 0);
  forEachTap(window, [&](int64_t, const std::vector<int64_t> &elements) {
    for (auto [count, element] : llvm::zip(counts, elements))
      count += includePad || element >= 0;
  });
  for (int64_t plane = 0; plane < planes; ++plane)
    for (int64_t count : counts) {
      if (std::is_floating_point_v<T> || count > 0)
        *out /= static_cast<T>(count);
      ++out;
    }
}

Tensor PoolOp::evaluate(Tensors inputs, Sizes symbols) {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  bool last = getLayout() == ChannelLayout::Last;
  int64_t rank = inputs[0].shape().size();
  DType type = isa<FloatType>(element) ? DType::F64 : DType::I64;
  Tensor image = inputs[0].converted(type);
  if (last)
    image = permuted(image, lastToSecond(rank));
  Tensor out =
      Tensor::allocate(type, channelsFirst(resultShape(getResult(), symbols), getLayout()));
  SlidingWindow window{Sizes(image.shape()).drop_front(2),
                       Sizes(out.shape()).drop_front(2),
                       getWindow(),
                       getStrides(),
                       getDilations(),
                       getPads().take_front(rank - 2)};
  int64_t planes = product(Sizes(image.shape()).take_front(2));
  withElement(type, [&](auto zero) {
    using T = decltype(zero);
    const T *from = image.as<T>();
    T *to = out.as<T>();
    switch (getKind()) {
    case PoolKind::Max:
      return poolMaximum(window, planes, smallest<T>(element), from, to);
    case PoolKind::Average:
      return poolAverage(window, planes, getIncludePad(), from, to);
    case PoolKind::Sum:
      return poolSum(window, planes, from, to);
    }
  });
  if (last)
    out = permuted(out, secondToLast(rank));
  return type == DType::F64 ? out : wrapped(out, element);
}

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

} // namespace headrace::hr
