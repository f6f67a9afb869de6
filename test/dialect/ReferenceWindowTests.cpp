// Reference evaluation of convolution and pooling, against loops written from the formula.
#include "ReferenceHarness.h"
#include <cmath>

namespace headrace {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

std::vector<float> small(int64_t count, int seed) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i)
    numbers[i] = static_cast<float>((i * 7 + seed * 13) % 11) - 5;
  return numbers;
}

/// A two-dimensional convolution; all sizes are exact in f32, so results compare equal.
struct Conv {
  int64_t n, c, h, w, f, kh, kw, groups, strideH, strideW, dilationH, dilationW;
  int64_t top, left, bottom, right;
  int64_t outH() const { return (h + top + bottom - dilationH * (kh - 1) - 1) / strideH + 1; }
  int64_t outW() const { return (w + left + right - dilationW * (kw - 1) - 1) / strideW + 1; }
};

/// Straight from the definition, channels first.
std::vector<float> convolve(const Conv &s, const std::vector<float> &x,
                            const std::vector<float> &weights) {
  std::vector<float> y;
  int64_t groupC = s.c / s.groups, groupF = s.f / s.groups;
  for (int64_t n = 0; n < s.n; ++n)
    for (int64_t f = 0; f < s.f; ++f)
      for (int64_t oh = 0; oh < s.outH(); ++oh)
        for (int64_t ow = 0; ow < s.outW(); ++ow) {
          float sum = 0;
          for (int64_t c = 0; c < groupC; ++c)
            for (int64_t kh = 0; kh < s.kh; ++kh)
              for (int64_t kw = 0; kw < s.kw; ++kw) {
                int64_t ih = oh * s.strideH - s.top + kh * s.dilationH;
                int64_t iw = ow * s.strideW - s.left + kw * s.dilationW;
                int64_t channel = f / groupF * groupC + c;
                if (ih >= 0 && ih < s.h && iw >= 0 && iw < s.w)
                  sum += x[((n * s.c + channel) * s.h + ih) * s.w + iw] *
                         weights[((f * groupC + c) * s.kh + kh) * s.kw + kw];
              }
          y.push_back(sum);
        }
  return y;
}

std::vector<float> transposed(const std::vector<float> &x, const std::vector<int64_t> &shape,
                              const std::vector<int64_t> &order) {
  std::vector<float> y;
  auto size = [&](int d) { return shape[order[d]]; };
  int64_t strides[] = {shape[1] * shape[2] * shape[3], shape[2] * shape[3], shape[3], 1};
  for (int64_t a = 0; a < size(0); ++a)
    for (int64_t b = 0; b < size(1); ++b)
      for (int64_t c = 0; c < size(2); ++c)
        for (int64_t d = 0; d < size(3); ++d)
          y.push_back(x[a * strides[order[0]] + b * strides[order[1]] + c * strides[order[2]] +
                        d * strides[order[3]]]);
  return y;
}

std::string list(std::initializer_list<int64_t> numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  return "array<i64: " + text + ">";
}

std::string type(const Shape &shape) { return "tensor<" + shapeString(shape) + "xf32>"; }

class ReferenceWindowTest : public ReferenceTest {
protected:
  Tensor conv(const Conv &s, const std::string &layout, Shape x, Shape w, Shape y,
              const std::vector<Tensor> &inputs) {
    return operation("hr.conv " + layout + " %a, %b {strides = " + list({s.strideH, s.strideW}) +
                         ", dilations = " + list({s.dilationH, s.dilationW}) +
                         ", pads = " + list({s.top, s.left, s.bottom, s.right}) +
                         ", groups = " + std::to_string(s.groups) + "}",
                     {type(x), type(w)}, type(y), inputs);
  }

  void check(const Conv &s) {
    int64_t groupC = s.c / s.groups;
    Shape xs{s.n, s.c, s.h, s.w}, ws{s.f, groupC, s.kh, s.kw}, ys{s.n, s.f, s.outH(), s.outW()};
    auto x = small(elementCount(xs), 1), weights = small(elementCount(ws), 2);
    auto expected = convolve(s, x, weights);
    EXPECT_EQ(values<float>(conv(s, "channels_first", xs, ws, ys,
                                 {tensor<float>(xs, x), tensor<float>(ws, weights)})),
              expected);
    Shape xl{s.n, s.h, s.w, s.c}, wl{s.kh, s.kw, groupC, s.f}, yl{s.n, s.outH(), s.outW(), s.f};
    EXPECT_EQ(values<float>(conv(s, "channels_last", xl, wl, yl,
                                 {tensor<float>(xl, transposed(x, xs, {0, 2, 3, 1})),
                                  tensor<float>(wl, transposed(weights, ws, {2, 3, 1, 0}))})),
              transposed(expected, ys, {0, 2, 3, 1}));
  }

  Tensor pool(const std::string &kindAndLayout, const std::string &attributes,
              const std::string &in, const std::string &out, const Tensor &input) {
    return operation("hr.pool " + kindAndLayout + " %a {" + attributes + "}", {in}, out, {input});
  }
};

TEST_F(ReferenceWindowTest, ConvolvesByHand) {
  Conv s{1, 1, 3, 3, 1, 2, 2, 1, 1, 1, 1, 1, 0, 0, 0, 0};
  Tensor y = conv(s, "channels_first", {1, 1, 3, 3}, {1, 1, 2, 2}, {1, 1, 2, 2},
                  {tensor<float>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9}),
                   tensor<float>({1, 1, 2, 2}, {1, 0, 0, -1})});
  EXPECT_EQ(values<float>(y), (std::vector<float>{-4, -4, -4, -4}));
}

TEST_F(ReferenceWindowTest, Convolutions) {
  //     n  c  h  w  f  kh kw g  strides dilations pads
  check({2, 3, 7, 6, 5, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
  check({1, 4, 9, 8, 6, 3, 2, 2, 2, 1, 1, 1, 0, 2, 1, 0}); // groups, asymmetric pads
  check({1, 2, 9, 9, 2, 3, 3, 1, 1, 2, 2, 3, 2, 3, 1, 0}); // dilation
  check({2, 6, 5, 5, 6, 3, 3, 6, 2, 2, 1, 1, 1, 1, 1, 1}); // depthwise
  check({1, 3, 4, 4, 9, 1, 1, 1, 3, 3, 1, 1, 0, 0, 0, 0}); // pointwise, strided
  check({1, 2, 2, 2, 1, 3, 3, 1, 1, 1, 1, 1, 4, 4, 4, 4}); // mostly padding
  check({0, 3, 4, 4, 2, 3, 3, 1, 1, 1, 1, 1, 0, 0, 0, 0}); // no images
}

TEST_F(ReferenceWindowTest, ChannelsBeyondOneBlock) {
  check({1, 40, 96, 96, 3, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1});
}

TEST_F(ReferenceWindowTest, OneAndThreeSpatialDimensions) {
  Tensor line =
      operation("hr.conv channels_first %a, %b {strides = array<i64: 1>, dilations = "
                "array<i64: 2>, pads = array<i64: 1, 0>, groups = 1}",
                {"tensor<1x1x4xf32>", "tensor<1x1x2xf32>"}, "tensor<1x1x3xf32>",
                {tensor<float>({1, 1, 4}, {1, 2, 3, 4}), tensor<float>({1, 1, 2}, {10, 1})});
  EXPECT_EQ(values<float>(line), (std::vector<float>{2, 13, 24}));
  Tensor cube =
      operation("hr.conv channels_last %a, %b {strides = array<i64: 1, 1, 1>, dilations "
                "= array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, groups = 1}",
                {"tensor<1x2x2x2x1xf32>", "tensor<2x2x2x1x1xf32>"}, "tensor<1x1x1x1x1xf32>",
                {tensor<float>({1, 2, 2, 2, 1}, {1, 2, 3, 4, 5, 6, 7, 8}),
                 tensor<float>({2, 2, 2, 1, 1}, {1, 0, 0, 0, 0, 0, 0, 10})});
  EXPECT_EQ(values<float>(cube), std::vector<float>{81});
}

TEST_F(ReferenceWindowTest, IntegerConvolutionWraps) {
  Tensor y = operation("hr.conv channels_first %a, %b {strides = array<i64: 1>, dilations = "
                       "array<i64: 1>, pads = array<i64: 0, 0>, groups = 1}",
                       {"tensor<1x1x2xi8>", "tensor<1x1x2xi8>"}, "tensor<1x1x1xi8>",
                       {tensor<int8_t>({1, 1, 2}, {100, 100}), tensor<int8_t>({1, 1, 2}, {1, 1})});
  EXPECT_EQ(values<int8_t>(y), std::vector<int8_t>{-56});
}

TEST_F(ReferenceWindowTest, SymbolicImage) {
  Tensor y = operation(
      "hr.conv channels_first %a, %b {strides = array<i64: 2>, dilations = "
      "array<i64: 1>, pads = array<i64: 0, 0>, groups = 1}",
      {"tensor<1x1x?xf32, affine_map<()[s0] -> (1, 1, s0)>>", "tensor<1x1x2xf32>"},
      "tensor<1x1x?xf32, affine_map<()[s0] -> (1, 1, s0 floordiv 2)>>",
      {tensor<float>({1, 1, 5}, {1, 2, 3, 4, 5}), tensor<float>({1, 1, 2}, {1, 10})}, {5});
  EXPECT_EQ(y.shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{21, 43}));
}

const char *const kWindow3Stride2Pad1 =
    "window = array<i64: 3>, strides = array<i64: 2>, dilations = array<i64: 1>, "
    "pads = array<i64: 1, 1>";

TEST_F(ReferenceWindowTest, MaximumIgnoresPaddingAndKeepsNaN) {
  Tensor y = pool("max channels_first", kWindow3Stride2Pad1, "tensor<1x2x4xf32>",
                  "tensor<1x2x2xf32>", tensor<float>({1, 2, 4}, {-3, -2, -9, -1, 1, 2, kNaN, 3}));
  EXPECT_EQ(y.as<float>()[0], -2);
  EXPECT_EQ(y.as<float>()[1], -1);
  EXPECT_EQ(y.as<float>()[2], 2);
  EXPECT_TRUE(std::isnan(y.as<float>()[3]));
}

TEST_F(ReferenceWindowTest, AverageCountsPaddingOnlyWhenAsked) {
  Tensor x = tensor<float>({1, 1, 4}, {3, 9, 6, 12});
  std::string attributes = kWindow3Stride2Pad1;
  EXPECT_EQ(values<float>(pool("average channels_first", attributes, "tensor<1x1x4xf32>",
                               "tensor<1x1x2xf32>", x)),
            (std::vector<float>{6, 9}));
  EXPECT_EQ(values<float>(pool("average channels_first", attributes + ", include_pad = true",
                               "tensor<1x1x4xf32>", "tensor<1x1x2xf32>", x)),
            (std::vector<float>{4, 9}));
}

TEST_F(ReferenceWindowTest, SumAddsNothingForPadding) {
  EXPECT_EQ(values<float>(pool("sum channels_first", kWindow3Stride2Pad1, "tensor<1x1x4xf32>",
                               "tensor<1x1x2xf32>", tensor<float>({1, 1, 4}, {3, 9, 6, 12}))),
            (std::vector<float>{12, 27}));
}

TEST_F(ReferenceWindowTest, PoolsChannelsLastWithDilation) {
  Tensor y = pool("max channels_last",
                  "window = array<i64: 2, 2>, strides = array<i64: 1, 1>, dilations = "
                  "array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>",
                  "tensor<1x3x2x2xf32>", "tensor<1x1x1x2xf32>",
                  tensor<float>({1, 3, 2, 2}, {1, -1, 2, -2, 90, 90, 90, 90, 3, -3, 0, -4}));
  EXPECT_EQ(values<float>(y), (std::vector<float>{3, -1}));
}

TEST_F(ReferenceWindowTest, PoolsIntegers) {
  std::string attributes = "window = array<i64: 2>, strides = array<i64: 2>, dilations = "
                           "array<i64: 1>, pads = array<i64: 0, 0>";
  Tensor x = tensor<int8_t>({1, 1, 4}, {-128, -127, 100, 101});
  EXPECT_EQ(values<int8_t>(
                pool("max channels_first", attributes, "tensor<1x1x4xi8>", "tensor<1x1x2xi8>", x)),
            (std::vector<int8_t>{-127, 101}));
  EXPECT_EQ(values<int8_t>(pool("average channels_first", attributes, "tensor<1x1x4xi8>",
                                "tensor<1x1x2xi8>", x)),
            (std::vector<int8_t>{-127, 100}));
}

TEST_F(ReferenceWindowTest, RefusesStridesAndGroupsOfZero) {
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &) {});
  auto program = [](const std::string &stride, const std::string &groups) {
    return "func.func @f(%a: tensor<1x0x4xf32>, %b: tensor<1x0x1xf32>) { %r = hr.conv "
           "channels_first %a, %b {strides = array<i64: " +
           stride + ">, dilations = array<i64: 1>, pads = array<i64: 0, 0>, groups = " + groups +
           "} : (tensor<1x0x4xf32>, tensor<1x0x1xf32>) -> tensor<1x1x4xf32> return }";
  };
  EXPECT_TRUE(parse(program("1", "1")));
  EXPECT_FALSE(parse(program("0", "1")));
  EXPECT_FALSE(parse(program("1", "0")));
}

} // namespace
} // namespace headrace
