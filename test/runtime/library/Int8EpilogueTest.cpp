#include "runtime/library/Int8Epilogue.h"

#include "runtime/library/ByteDepthwise.h"
#include "runtime/program/Library.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace headrace {
namespace {

using bytes::Kind;
constexpr Kind kinds[] = {Kind::DotProducts, Kind::WidePairs, Kind::Pairs, Kind::Plain};

std::vector<uint8_t> randomBytes(int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::vector<uint8_t> result(static_cast<size_t>(count));
  for (uint8_t &byte : result)
    byte = static_cast<uint8_t>(generator());
  return result;
}

/// The definition, with each operation rounded to f32.
int32_t roundedTo(float x, const ByteRounding &to) {
  float quotient = x / to.scale;
  return static_cast<int32_t>(std::clamp(std::nearbyint(quotient) + to.zero, to.low, to.high));
}

Int8Epilogue finishOf(int64_t form, int64_t columns, float scale) {
  Int8Epilogue finish;
  finish.form = form;
  finish.head.inner = {0.37F, -3, -128, 127};
  finish.head.otherScale = 0.21F;
  finish.head.otherZero = 7;
  finish.head.result = {0.53F, 11, 0, 255};
  for (int64_t j = 0; j < columns; ++j) {
    finish.addends.push_back(static_cast<int32_t>(100 * j - 900));
    finish.scales.push_back(scale * (1 + 0.01F * static_cast<float>(j)));
    finish.biases.push_back(0.5F * static_cast<float>(j));
  }
  for (int i = 0; i < 256; ++i)
    finish.table.push_back(static_cast<uint8_t>(i * 37 + 5));
  return finish;
}

uint8_t expectedOf(const Int8Epilogue &finish, int32_t sum, size_t column, uint8_t other) {
  float x = static_cast<float>(sum) * finish.scales[column];
  if (finish.form & Int8Epilogue::Biased)
    x += finish.biases[column];
  if (finish.form & Int8Epilogue::ThroughByte) {
    auto byte = static_cast<float>(roundedTo(x, finish.head.inner));
    x = (byte - finish.head.inner.zero) * finish.head.inner.scale;
  }
  if (finish.form & Int8Epilogue::AddsOther) {
    auto byte = static_cast<float>(finish.form & Int8Epilogue::OtherIsUnsigned
                                       ? int32_t{other}
                                       : int32_t{static_cast<int8_t>(other)});
    float number = (byte - finish.head.otherZero) * finish.head.otherScale;
    x += number;
  }
  auto byte = static_cast<uint8_t>(roundedTo(x, finish.head.result));
  return finish.form & Int8Epilogue::LooksUp ? finish.table[byte] : byte;
}

constexpr int64_t forms[] = {
    0,
    Int8Epilogue::Biased,
    Int8Epilogue::ThroughByte,
    Int8Epilogue::AddsOther,
    Int8Epilogue::AddsOther | Int8Epilogue::OtherIsUnsigned,
    Int8Epilogue::LooksUp,
    Int8Epilogue::ThroughByte | Int8Epilogue::AddsOther | Int8Epilogue::LooksUp,
    Int8Epilogue::Biased | Int8Epilogue::ThroughByte | Int8Epilogue::AddsOther |
        Int8Epilogue::OtherIsUnsigned | Int8Epilogue::LooksUp};

/// A product, or a convolution of some kind, whose sums become bytes in an image with a halo.
struct Case {
  BytePatches patches;
  int64_t images, features; // features: 0, each channel has its own filter
  bool unsignedImage = false, unsignedFilter = false;
  bool isProduct = false; // with the rows of a matrix

  int64_t columns() const { return features ? features : patches.channels; }
  int64_t taps() const { return patches.window[0] * patches.window[1] * patches.window[2]; }
  int64_t positions() const { return patches.out[0] * patches.out[1] * patches.out[2]; }
  int64_t depth() const { return taps() * (features ? patches.channels : 1); }
  std::vector<uint8_t> image = randomBytes(images * patches.imageBytes(), 1);
  std::vector<uint8_t> filter = randomBytes(depth() * columns(), 2);
  std::vector<uint8_t> other = randomBytes(images * positions() * columns(), 3);
  BytePlaces places{patches.out, {0, 1, 2}, {0, 3, 1}, 77};

  int32_t sumAt(int64_t row, int64_t column) const {
    const auto &[channels, in, out, window, stride, dilation] = patches;
    auto number = [](uint8_t byte, bool isUnsigned) {
      return isUnsigned ? int32_t{byte} : int32_t{static_cast<int8_t>(byte)};
    };
    int64_t z = row / (out[2] * out[1]) % out[0], y = row / out[2] % out[1], x = row % out[2];
    int32_t sum = 0;
    for (int64_t tap = 0; tap < taps(); ++tap) {
      int64_t c = tap % window[2], b = tap / window[2] % window[1], a = tap / window[2] / window[1];
      int64_t pixel = row / positions();
      pixel = pixel * in[0] + z * stride[0] + a * dilation[0];
      pixel = pixel * in[1] + y * stride[1] + b * dilation[1];
      pixel = pixel * in[2] + x * stride[2] + c * dilation[2];
      for (int64_t i = 0; i < (features ? channels : 1); ++i) {
        int64_t channel = features ? i : column;
        int64_t weight =
            features ? (tap * channels + i) * features + column : tap * channels + column;
        sum += number(image[static_cast<size_t>(pixel * channels + channel)], unsignedImage) *
               number(filter[static_cast<size_t>(weight)], unsignedFilter);
      }
    }
    return sum;
  }

  std::vector<uint8_t> expected(const Int8Epilogue &finish) const {
    int64_t rows = places.low[1] + places.size[1] + places.high[1];
    int64_t line = places.low[2] + places.size[2] + places.high[2], n = columns();
    std::vector<uint8_t> result(static_cast<size_t>(images * places.size[0] * rows * line * n), 77);
    for (int64_t row = 0; row < images * positions(); ++row)
      for (int64_t j = 0; j < n; ++j) {
        int64_t x = row % places.size[2], y = row / places.size[2] % places.size[1];
        int64_t place = row / (places.size[2] * places.size[1]) * rows + y + places.low[1];
        place = (place * line + x + places.low[2]) * n + j;
        auto column = static_cast<size_t>(j);
        result[static_cast<size_t>(place)] =
            expectedOf(finish, sumAt(row, j) + finish.addends[column], column,
                       other[static_cast<size_t>(row * n + j)]);
      }
    return result;
  }

  std::vector<uint8_t> computed(const Int8Epilogue &finish, size_t bytes, Kind kind,
                                ThreadPool &pool) const {
    std::vector<uint8_t> result(bytes, 1);
    Tensor record = finish.record();
    Int8EpilogueWriter finisher(record.as<uint8_t>(), finish.form, columns());
    const uint8_t *added = finisher.addsOther() ? other.data() : nullptr;
    int64_t rows = images * positions();
    if (features == 0) {
      ByteDepthwise depthwise{patches, rows, unsignedImage, unsignedFilter};
      Tensor packed = packedTaps(depthwise, filter.data());
      convolveToBytes(depthwise, finisher, places, image.data(), packed.as<uint8_t>(), added,
                      result.data(), pool, kind);
      return result;
    }
    ByteProduct product{Gemm::of(rows, features, depth(), false, false), unsignedImage,
                        unsignedFilter};
    if (!isProduct) {
      product.patches = patches;
      product.padsRuns = true;
    }
    Tensor packed = packedColumns(product, filter.data());
    multiplyToBytes(product, finisher, places, image.data(), packed.as<uint8_t>(), added,
                    result.data(), pool, kind);
    return result;
  }
};

void expectExact(const Case &each) {
  ThreadPool one(1), three(3);
  float typical = 40.0F / (128 * 128 * std::sqrt(static_cast<float>(each.depth())));
  for (int64_t form : forms) {
    Int8Epilogue finish = finishOf(form, each.columns(), typical);
    std::vector<uint8_t> expected = each.expected(finish);
    for (Kind kind : kinds)
      for (ThreadPool *pool : {&one, &three})
        if (bytes::hasKind(kind))
          EXPECT_EQ(each.computed(finish, expected.size(), kind, *pool), expected)
              << "form " << form << " kind " << static_cast<int>(kind) << " channels "
              << each.patches.channels << " columns " << each.columns();
  }
}

BytePatches patchesOf(int64_t channels, int64_t in, int64_t window, int64_t stride,
                      int64_t dilation) {
  int64_t out = (in - (window - 1) * dilation - 1) / stride + 1;
  return {channels,
          {1, in, in + 1},
          {1, out, (in - (window - 1) * dilation) / stride + 1},
          {1, window, window},
          {1, stride, stride},
          {1, dilation, dilation}};
}

TEST(Int8Epilogue, OfConvolutionsIsTheDefinition) {
  for (int64_t channels : {1, 3, 4, 7})
    for (int64_t features : {1, 8, 17, 70})
      for (bool isUnsigned : {false, true})
        expectExact({patchesOf(channels, 9, 3, 2, 1), 2, features, isUnsigned, false});
  expectExact({patchesOf(3, 15, 7, 2, 1), 2, 9, true, true});
  expectExact({patchesOf(5, 11, 3, 1, 2), 1, 20, false, true});
  // Several passes over the sum.
  expectExact({patchesOf(64, 5, 3, 1, 1), 3, 67});
}

TEST(Int8Epilogue, OfProductsIsTheDefinition) {
  for (int64_t depth : {1, 5, 8, 400})
    for (int64_t columns : {3, 8, 33, 130}) {
      Case each{patchesOf(depth, 7, 1, 1, 1), 2, columns};
      each.isProduct = true;
      expectExact(each);
    }
}

TEST(Int8Epilogue, OfDepthwiseConvolutionsIsTheDefinition) {
  for (int64_t channels : {1, 8, 16, 23, 70})
    for (bool isUnsigned : {false, true})
      expectExact({patchesOf(channels, 12, 3, 1, 1), 2, 0, isUnsigned, !isUnsigned});
  expectExact({patchesOf(36, 13, 5, 2, 1), 2, 0});
  expectExact({patchesOf(5, 13, 3, 1, 3), 2, 0});
}

/// Every sum that steps to another byte, its neighbours, and the ends of the range.
TEST(Int8Epilogue, OneMultiplierGivesTheBytesOfAProductAndAQuotient) {
  std::mt19937 generator(3);
  int found = 0, tried = 400;
  for (int i = 0; i < tried; ++i) {
    float scale = std::ldexp(1 + static_cast<float>(generator()) * 0x1p-32F,
                             -static_cast<int>(generator() % 16));
    ByteRounding to{std::ldexp(1 + static_cast<float>(generator()) * 0x1p-32F,
                               static_cast<int>(generator() % 12) - 4),
                    0, -128, 127};
    to.zero = static_cast<float>(static_cast<int>(generator() % 256) - 128);
    float factor = equalMultiplier(scale, to);
    if (factor == 0)
      continue;
    ++found;
    auto check = [&](int64_t sum) {
      auto number = static_cast<float>(static_cast<int32_t>(sum));
      float product = number * scale, once = number * factor;
      ByteRounding alone = to;
      alone.scale = 1;
      EXPECT_EQ(roundedTo(once, alone), roundedTo(product, to)) << sum << " * " << scale;
    };
    for (int64_t sum : {int64_t{INT32_MIN}, int64_t{INT32_MAX}, int64_t{0}})
      check(sum);
    for (int byte = -128; byte < 128; ++byte) {
      double middle = (byte - double{to.zero} - 0.5) * double{to.scale} / scale;
      for (int64_t sum = std::llround(middle) - 3; sum <= std::llround(middle) + 3; ++sum)
        if (std::abs(sum) < INT32_MAX)
          check(sum);
    }
  }
  EXPECT_GT(found, tried / 2);
  EXPECT_EQ(equalMultiplier(0x1p-100F, {}), 0);
}

TEST(Int8Epilogue, OperandsThatDoNotFitAreFaults) {
  auto expectFaults = [](const char *routine, const std::vector<int64_t> &sizes,
                         std::vector<int64_t> bytes) {
    Step step;
    step.kind = Step::Kind::Library;
    step.symbol = routine;
    EXPECT_EQ(libraryFault(step, sizes, bytes), "") << routine;
    for (int64_t &each : bytes) {
      --each;
      EXPECT_NE(libraryFault(step, sizes, bytes), "") << routine;
      ++each;
    }
    for (size_t i = 0; i + 1 < sizes.size(); ++i)
      for (int64_t wrong : {int64_t{-1}, INT64_MAX}) {
        std::vector<int64_t> changed = sizes;
        changed[i] = wrong;
        libraryFault(step, changed, bytes); // whatever it says, it comes back
      }
  };
  int64_t record = Int8EpilogueWriter::recordBytes(0, 8);
  // 2 x 2 images of 8 columns, 16 deep, with a halo of 1.
  expectFaults("int8.finished_gemm",
               {1, 4, 8, 16, 0, 0, 0, 0, 0, 16, 8, 8, 1, 0, 0, 1, 2, 2, 0, 1, 1, 0, 1, 1, 0},
               {64, 64 * 5, record, 4 * 4 * 8});
  expectFaults("int8.added_gemm",
               {1, 4, 8, 16, 0, 0, 0, 0, 0, 16, 8, 8, 1, 0, 4, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0},
               {64, 64 * 5, record, 32, 32});
  // 3 x 3 windows of 4 x 4 images of 3 channels: runs of 9 bytes take 3 steps.
  expectFaults("int8.finished_conv",
               {1, 4, 8, 27, 0, 0, 0, 0, 0, 27, 8, 8, 1, 0, 3, 1, 4, 4, 1, 2, 2,
                1, 3, 3, 1,  1, 1, 1, 1, 1, 0,  1, 2, 2, 0, 0, 0, 0, 0, 0, 0},
               {48, 64 * 10, record, 32});
  expectFaults("int8.finished_depthwise", {4, 1, 0, 8, 1, 4, 4, 1, 2, 2, 1, 3, 3, 1, 1,
                                           1, 1, 1, 1, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0, 0},
               {128, 9 * 16 * 4, record, 32});
}

} // namespace
} // namespace headrace
