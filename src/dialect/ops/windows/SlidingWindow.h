// Sliding windows, as the reference evaluations of convolutions, poolings and their gradients use
// them.
#pragma once

#include "dialect/reference/Reference.h"
#include "runtime/system/Interruption.h"

namespace headrace::reference {

/// A window that slides over the spatial dimensions of an image. A tap is a position inside it.
struct SlidingWindow {
  Sizes input, output, window, strides, dilations, lowPads;

  int64_t taps() const { return product(window); }
  int64_t positions() const { return product(output); }

  /// For each output position, the element of the image under a tap; -1 in the padding.
  std::vector<int64_t> elementsUnder(Sizes tap) const {
    std::vector<int64_t> elements(positions());
    llvm::SmallVector<int64_t> position(output.size(), 0);
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

template <class Visitor> void forEachTap(const SlidingWindow &window, Visitor visit) {
  llvm::SmallVector<int64_t> tap(window.window.size(), 0);
  for (int64_t t = 0; t < window.taps(); ++t) {
    pollInterruption();
    visit(t, window.elementsUnder(tap));
    advance(tap, window.window);
  }
}

/// [window..., C/groups, F] as [F, C/groups, window...], and back.
inline Tensor filterFeaturesFirst(const Tensor &filter) {
  int64_t rank = filter.shape().size();
  llvm::SmallVector<int64_t> order{rank - 1, rank - 2};
  llvm::append_range(order, llvm::seq<int64_t>(0, rank - 2));
  return permuted(filter, order);
}
inline Tensor filterFeaturesLast(const Tensor &filter) {
  int64_t rank = filter.shape().size();
  llvm::SmallVector<int64_t> order = llvm::to_vector(llvm::seq<int64_t>(2, rank));
  order.append({1, 0});
  return permuted(filter, order);
}

/// The shape with its channels first.
inline Shape channelsFirst(const Shape &shape, hr::ChannelLayout layout) {
  if (layout == hr::ChannelLayout::First)
    return shape;
  Shape moved;
  for (int64_t dim : lastToSecond(shape.size()))
    moved.push_back(shape[dim]);
  return moved;
}

/// The image with its channels first.
inline Tensor channelsFirst(const Tensor &image, hr::ChannelLayout layout) {
  return layout == hr::ChannelLayout::First ? image
                                            : permuted(image, lastToSecond(image.shape().size()));
}

} // namespace headrace::reference
