// Reference evaluation of convolution and pooling.
#include "dialect/reference/MatrixProduct.h"
#include "dialect/reference/Reference.h"

#include <cmath>

using namespace mlir;
using namespace headrace::reference;

namespace headrace::hr {

namespace {

/// A window that slides over the spatial dimensions of an image. A tap is a position inside it.
struct SlidingWindow {
  Sizes input, output, window, strides, dilations, lowPads;

  int64_t taps() const { return product(window); }
  int64_t positions() const { return product(output); }

  /// For each output position, the element of the image under a tap; -1 in the padding.
  std::vector<int64_t> elementsUnder(Sizes tap) const {
    std::vector<int64_t> elements(positions());
    SmallVector<int64_t> position(output.size(), 0);
    for (int64_t &element : elements) {
      for (size_t d = 0; d < input.size() && element >= 0; ++d) {
        int64_t i = position[d] * strides[d] - lowPads[d] + tap[d] * dilations[d];
        element = i < 0 || i >= input[d] ? -1 : element * input[d] + i;
      }
      advance(position, output);
    }
    return elements;
  }
};

} // namespace

template <class Visitor> static void forEachTap(const SlidingWindow &window, Visitor visit) {
  SmallVector<int64_t> tap(window.window.size(), 0);
  for (int64_t t = 0; t < window.taps(); ++t) {
    visit(t, window.elementsUnder(tap));
    advance(tap, window.window);
  }
}

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

/// [window..., C/groups, F] as [F, C/groups, window...].
static Tensor filterFeaturesFirst(const Tensor &filter) {
  int64_t rank = filter.shape().size();
  SmallVector<int64_t> order{rank - 1, rank - 2};
  llvm::append_range(order, llvm::seq<int64_t>(0, rank - 2));
  return permuted(filter, order);
}

/// The result's shape with its channels first.
static Shape channelsFirst(const Shape &shape, ChannelLayout layout) {
  if (layout == ChannelLayout::First)
    return shape;
  Shape moved;
  for (int64_t dim : lastToSecond(shape.size()))
    moved.push_back(shape[dim]);
  return moved;
}

Tensor ConvOp::evaluate(Tensors inputs, Sizes symbols) {
  Type element = cast<RankedTensorType>(getType()).getElementType();
  DType type = isa<FloatType>(element) ? DType::F64 : DType::I64;
  bool last = getLayout() == ChannelLayout::Last;
  int64_t rank = inputs[0].shape().size();
  Tensor image = inputs[0].converted(type), filter = inputs[1].converted(type);
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
  return a >= b ? a : b; // b also where it is NaN
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

/// Divides by the number of elements under the window; padding counts where the operator says so.
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

} // namespace headrace::hr
