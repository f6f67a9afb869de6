// Compiled convolutions and pools against the reference.
#include "CompiledProgram.h"

using namespace mlir;

namespace headrace {
namespace {

using hr::ChannelLayout;
using hr::PoolKind;

struct Window {
  SmallVector<int64_t> spatial, window;
  int64_t channels = 3, features = 8, groups = 1, batch = 2;
  int64_t stride = 1, dilation = 1, low = 0, high = 0;
};

/// The name of a test, which must not hold addresses.
void PrintTo(const Window &w, std::ostream *os) {
  auto sizes = [&](const SmallVector<int64_t> &list) {
    for (size_t i = 0; i < list.size(); ++i)
      *os << (i ? "x" : "") << list[i];
  };
  sizes(w.spatial);
  *os << "_by_";
  sizes(w.window);
  *os << "_c" << w.channels << "_f" << w.features << "_g" << w.groups << "_s" << w.stride << "_d"
      << w.dilation << "_p" << w.low << "_" << w.high;
}

Value convolve(CompiledProgram &p, const Window &w, ChannelLayout layout, bool constant = true) {
  size_t rank = w.spatial.size();
  bool first = layout == ChannelLayout::First;
  SmallVector<int64_t> image{w.batch}, filter;
  if (first) {
    image.push_back(w.channels);
    filter = {w.features, w.channels / w.groups};
  }
  image.append(w.spatial);
  filter.append(w.window);
  if (!first) {
    image.push_back(w.channels);
    filter.append({w.channels / w.groups, w.features});
  }
  SmallVector<int64_t> strides(rank, w.stride), dilations(rank, w.dilation), pads(rank, w.low);
  pads.append(rank, w.high);
  Value weights = constant ? p.constant(filter) : p.input(filter);
  return p.add<hr::ConvOp>(p.input(image), weights, strides, dilations, pads, w.groups, layout,
                           TypeAttr());
}

Value pool(CompiledProgram &p, const Window &w, PoolKind kind, ChannelLayout layout,
           bool includePad) {
  size_t rank = w.spatial.size();
  SmallVector<int64_t> image{w.batch};
  if (layout == ChannelLayout::First)
    image.push_back(w.channels);
  image.append(w.spatial);
  if (layout == ChannelLayout::Last)
    image.push_back(w.channels);
  SmallVector<int64_t> strides(rank, w.stride), dilations(rank, w.dilation), pads(rank, w.low);
  pads.append(rank, w.high);
  return p.add<hr::PoolOp>(p.input(image), kind, w.window, strides, dilations, pads, includePad,
                           layout);
}

class EveryConvolution : public testing::TestWithParam<Window> {};

TEST_P(EveryConvolution, InBothLayouts) {
  CompiledProgram p;
  for (ChannelLayout layout : {ChannelLayout::First, ChannelLayout::Last})
    for (bool constant : {true, false})
      p.output(convolve(p, GetParam(), layout, constant));
  p.check();
}

INSTANTIATE_TEST_SUITE_P(
    OneDimension, EveryConvolution,
    testing::Values(
        Window{.spatial = {17}, .window = {3}}, Window{.spatial = {1}, .window = {1}},
        Window{.spatial = {131}, .window = {5}, .channels = 1, .features = 1},
        Window{.spatial = {97}, .window = {7}, .channels = 4, .groups = 2, .stride = 3},
        // One channel: a step of the sum is one product.
        Window{.spatial = {67}, .window = {32}, .channels = 1, .features = 74, .stride = 9},
        Window{.spatial = {67}, .window = {32}, .channels = 1, .features = 32, .batch = 11},
        Window{.spatial = {3}, .window = {3}, .low = 1, .high = 1}));

INSTANTIATE_TEST_SUITE_P(
    TwoDimensions, EveryConvolution,
    testing::Values(
        Window{.spatial = {7, 7}, .window = {3, 3}, .low = 1, .high = 1},
        Window{.spatial = {13, 17}, .window = {3, 3}, .channels = 16, .features = 32},
        Window{.spatial = {13, 17}, .window = {3, 3}, .channels = 16, .features = 33, .stride = 2},
        Window{.spatial = {13, 17}, .window = {2, 3}, .features = 64, .stride = 3, .low = 1},
        Window{.spatial = {17, 13}, .window = {3, 3}, .features = 16, .dilation = 2, .high = 2},
        Window{.spatial = {28, 28}, .window = {5, 5}, .channels = 1, .features = 6, .batch = 1},
        Window{.spatial = {14, 14}, .window = {1, 1}, .channels = 24, .features = 40},
        Window{.spatial = {15, 15}, .window = {1, 1}, .channels = 24, .features = 40, .stride = 2},
        Window{.spatial = {7, 97}, .window = {3, 3}, .channels = 8, .features = 48},
        Window{.spatial = {5, 5}, .window = {5, 5}, .channels = 8, .features = 10},
        Window{.spatial = {7, 7}, .window = {3, 3}, .batch = 0},
        // One feature: vectors along rows, of any length.
        Window{.spatial = {28, 28},
               .window = {5, 5},
               .channels = 6,
               .features = 1,
               .low = 2,
               .high = 2},
        Window{.spatial = {9, 41}, .window = {3, 2}, .features = 1, .dilation = 2},
        Window{.spatial = {9, 41}, .window = {3, 3}, .features = 1, .stride = 2},
        // One channel: a step of the sum is one product.
        Window{.spatial = {9, 41}, .window = {3, 3}, .channels = 1, .features = 64, .stride = 2},
        // Features of odd numbers of vectors.
        Window{.spatial = {9, 9}, .window = {3, 3}, .features = 12},
        Window{.spatial = {9, 9}, .window = {3, 3}, .channels = 5, .features = 28},
        // One position, which leaves a row and a column unread.
        Window{.spatial = {2, 2}, .window = {3, 3}, .stride = 2, .low = 1, .high = 1},
        Window{.spatial = {2, 2}, .window = {1, 1}, .stride = 2},
        Window{.spatial = {224, 9}, .window = {7, 7}, .stride = 2, .low = 3, .high = 3}));

INSTANTIATE_TEST_SUITE_P(
    TapsInPadding, EveryConvolution,
    testing::Values(Window{.spatial = {14, 14},
                           .window = {3, 3},
                           .features = 16,
                           .dilation = 24,
                           .low = 24,
                           .high = 24},
                    // Computed part by part.
                    Window{.spatial = {14, 13},
                           .window = {3, 3},
                           .channels = 64,
                           .features = 64,
                           .dilation = 11,
                           .low = 11,
                           .high = 11},
                    Window{.spatial = {15, 14},
                           .window = {3, 3},
                           .channels = 64,
                           .features = 64,
                           .groups = 2,
                           .stride = 2,
                           .dilation = 11,
                           .low = 11,
                           .high = 10},
                    Window{.spatial = {5}, .window = {4}, .dilation = 3, .low = 8, .high = 2},
                    Window{.spatial = {10}, .window = {2}, .dilation = 10, .high = 1}));

INSTANTIATE_TEST_SUITE_P(
    Groups, EveryConvolution,
    testing::Values(
        Window{.spatial = {9, 9}, .window = {3, 3}, .channels = 8, .features = 8, .groups = 8},
        Window{.spatial = {9, 11},
               .window = {3, 3},
               .channels = 96,
               .features = 96,
               .groups = 96,
               .stride = 2,
               .low = 1,
               .high = 1},
        Window{.spatial = {9, 9}, .window = {3, 3}, .channels = 7, .features = 14, .groups = 7},
        Window{.spatial = {9, 9}, .window = {3, 3}, .channels = 8, .features = 32, .groups = 2},
        Window{.spatial = {9, 9}, .window = {1, 1}, .channels = 8, .features = 32, .groups = 4},
        Window{.spatial = {9, 9},
               .window = {3, 3},
               .channels = 34,
               .features = 34,
               .groups = 17,
               .dilation = 2}));

INSTANTIATE_TEST_SUITE_P(
    ThreeDimensions, EveryConvolution,
    testing::Values(
        Window{.spatial = {5, 6, 7}, .window = {3, 3, 3}, .low = 1, .high = 1},
        Window{.spatial = {5, 6, 7}, .window = {2, 2, 3}, .stride = 2},
        Window{
            .spatial = {5, 6, 7}, .window = {3, 1, 3}, .channels = 4, .features = 4, .groups = 4}));

class EveryPool : public testing::TestWithParam<Window> {};

TEST_P(EveryPool, InBothLayouts) {
  CompiledProgram p;
  for (ChannelLayout layout : {ChannelLayout::First, ChannelLayout::Last}) {
    p.output(pool(p, GetParam(), PoolKind::Max, layout, false));
    p.output(pool(p, GetParam(), PoolKind::Sum, layout, false));
    for (bool includePad : {false, true})
      p.output(pool(p, GetParam(), PoolKind::Average, layout, includePad));
  }
  p.check();
}

INSTANTIATE_TEST_SUITE_P(
    CompiledPool, EveryPool,
    testing::Values(
        Window{.spatial = {17}, .window = {3}},
        Window{.spatial = {8, 8}, .window = {2, 2}, .stride = 2},
        Window{
            .spatial = {7, 9}, .window = {3, 3}, .channels = 16, .stride = 2, .low = 1, .high = 1},
        Window{.spatial = {13, 17}, .window = {3, 2}, .channels = 33, .stride = 3, .high = 1},
        Window{.spatial = {13, 17}, .window = {3, 3}, .channels = 64, .dilation = 2},
        Window{.spatial = {7, 7}, .window = {7, 7}, .channels = 5},
        Window{
            .spatial = {4, 5}, .window = {3, 3}, .channels = 5, .dilation = 6, .low = 6, .high = 6},
        Window{.spatial = {4, 4}, .window = {3, 3}, .channels = 5, .stride = 2},
        Window{.spatial = {97, 131}, .window = {1, 1}, .channels = 1},
        Window{.spatial = {5, 6, 7}, .window = {2, 3, 2}, .channels = 4, .stride = 2, .low = 1}));

TEST(CompiledWindow, BiasResidualAndActivationFuse) {
  CompiledProgram p;
  Window w{.spatial = {9, 11}, .window = {3, 3}, .channels = 16, .features = 32};
  Value image = convolve(p, w, ChannelLayout::Last);
  p.output(p.relu(p.sum({image, p.constant({32}), p.input({2, 7, 9, 32})})));
  p.check();
  EXPECT_EQ(p.kernels(), 1);
}

TEST(CompiledWindow, ANetworkInChannelsFirst) {
  CompiledProgram p;
  AffineExpr batch = p.symbol("batch");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  Value x = p.symbolicInput({batch, fixed(3), fixed(19), fixed(17)});
  auto conv = [&](Value in, Value filter, int64_t stride, int64_t pad, int64_t groups) {
    return p.add<hr::ConvOp>(in, filter, ArrayRef<int64_t>{stride, stride}, ArrayRef<int64_t>{1, 1},
                             ArrayRef<int64_t>{pad, pad, pad, pad}, groups, ChannelLayout::First,
                             TypeAttr());
  };
  Value stem = conv(x, p.constant({16, 3, 3, 3}), 2, 1, 1);
  Value normal = p.add<hr::BatchNormOp>(
      stem.getType(), stem, p.constant({16}), p.constant({16}), p.constant({16}),
      p.add<hr::ConstantOp>(DenseElementsAttr::get(RankedTensorType::get({16}, p.f32()), 0.7f)),
      p.builder().getF64FloatAttr(1e-5),
      hr::ChannelLayoutAttr::get(p.context(), ChannelLayout::First));
  Value low = p.relu(normal);
  Value depthwise = p.relu(conv(low, p.constant({16, 1, 3, 3}), 1, 1, 16));
  Value block = conv(depthwise, p.constant({16, 16, 1, 1}), 1, 0, 1);
  Value joined = p.relu(p.sum({block, low, p.constant({16, 1, 1})}));
  Value pooled = p.add<hr::PoolOp>(joined, PoolKind::Max, ArrayRef<int64_t>{2, 2},
                                   ArrayRef<int64_t>{2, 2}, ArrayRef<int64_t>{1, 1},
                                   ArrayRef<int64_t>{0, 0, 0, 0}, false, ChannelLayout::First);
  Value mean = p.reduce(hr::ReduceKind::Mean, pooled, {2, 3});
  p.output(p.contract("bc,fc->bf", mean, p.constant({10, 16})));
  p.output(joined);
  for (int64_t size : {1, 2, 5, 17})
    p.check({size});
}

TEST(CompiledWindow, SymbolicImageSizes) {
  CompiledProgram p;
  AffineExpr height = p.symbol("height"), width = p.symbol("width");
  auto fixed = [&](int64_t size) { return constantDim(size, p.context()); };
  for (ChannelLayout layout : {ChannelLayout::First, ChannelLayout::Last}) {
    bool first = layout == ChannelLayout::First;
    Value x = first ? p.symbolicInput({fixed(1), fixed(4), height, width})
                    : p.symbolicInput({fixed(1), height, width, fixed(4)});
    for (int64_t stride : {1, 2})
      for (int64_t pad : {0, 1}) {
        ArrayRef<int64_t> strides{stride, stride}, ones{1, 1}, pads{pad, pad, pad, pad};
        SmallVector<int64_t> filter =
            first ? SmallVector<int64_t>{16, 4, 3, 3} : SmallVector<int64_t>{3, 3, 4, 16};
        p.output(p.add<hr::ConvOp>(
            x, p.constant(filter), SmallVector<int64_t>{stride, stride}, SmallVector<int64_t>{1, 1},
            SmallVector<int64_t>{pad, pad, pad, pad}, 1, layout, TypeAttr()));
        for (PoolKind kind : {PoolKind::Max, PoolKind::Average})
          p.output(p.add<hr::PoolOp>(
              x, kind, SmallVector<int64_t>{3, 3}, SmallVector<int64_t>{stride, stride},
              SmallVector<int64_t>{1, 1}, SmallVector<int64_t>{pad, pad, pad, pad}, false, layout));
      }
  }
  // 2: nothing is left of the image if it is not padded.
  for (int64_t first : {2, 3, 8, 17})
    for (int64_t second : {2, 4, 31})
      p.check({first, second});
}

TEST(CompiledWindow, EveryType) {
  CompiledProgram p;
  for (Type type : {Type(p.builder().getF64Type()), Type(p.builder().getI32Type())}) {
    Value x = p.input({1, 9, 9, 3}, type), w = p.constant({3, 3, 3, 8}, type);
    SmallVector<int64_t> ones{1, 1}, none{0, 0, 0, 0};
    p.output(p.add<hr::ConvOp>(x, w, ones, ones, none, 1, ChannelLayout::Last, TypeAttr()));
    p.output(p.add<hr::PoolOp>(x, PoolKind::Max, SmallVector<int64_t>{2, 2}, ones, ones, none,
                               false, ChannelLayout::Last));
  }
  p.check();
}

} // namespace
} // namespace headrace
