#include "runtime/library/BytePatches.h"

#include "runtime/library/ByteProduct.h"
#include "runtime/program/Library.h"

#include <gtest/gtest.h>
#include <random>

namespace headrace {
namespace {

std::vector<uint8_t> randomBytes(int64_t count) {
  std::mt19937 generator(7);
  std::vector<uint8_t> result(static_cast<size_t>(count));
  for (uint8_t &byte : result)
    byte = static_cast<uint8_t>(generator());
  return result;
}

struct Convolution {
  BytePatches patches;
  int64_t images, features;
  bool unsignedImage = true, unsignedFilter = false;

  int64_t depth() const {
    return patches.window[0] * patches.window[1] * patches.window[2] * patches.channels;
  }
  int64_t positions() const { return patches.out[0] * patches.out[1] * patches.out[2]; }
  int64_t rows() const { return images * positions(); }
  int64_t imageBytes() const {
    return patches.in[0] * patches.in[1] * patches.in[2] * patches.channels;
  }

  /// The patches as a matrix, by the definition.
  std::vector<uint8_t> matrix(const std::vector<uint8_t> &image) const {
    const auto &[channels, in, out, window, stride, dilation] = patches;
    std::vector<uint8_t> result;
    for (int64_t row = 0; row < rows(); ++row) {
      int64_t z = row / (out[2] * out[1]) % out[0], y = row / out[2] % out[1], x = row % out[2];
      for (int64_t a = 0; a < window[0]; ++a)
        for (int64_t b = 0; b < window[1]; ++b)
          for (int64_t c = 0; c < window[2]; ++c)
            for (int64_t channel = 0; channel < channels; ++channel) {
              int64_t pixel = row / positions();
              pixel = pixel * in[0] + z * stride[0] + a * dilation[0];
              pixel = pixel * in[1] + y * stride[1] + b * dilation[1];
              pixel = pixel * in[2] + x * stride[2] + c * dilation[2];
              result.push_back(image[static_cast<size_t>(pixel * channels + channel)]);
            }
    }
    return result;
  }

  ByteProduct product(bool ofPatches) const {
    ByteProduct result{Gemm::of(rows(), features, depth(), false, false), unsignedImage,
                       unsignedFilter};
    if (ofPatches)
      result.patches = patches;
    return result;
  }
};

/// The product of the patches equals the one of the matrix that they are.
void expectExact(const Convolution &each) {
  ThreadPool one(1), three(3);
  std::vector<uint8_t> image = randomBytes(each.images * each.imageBytes());
  std::vector<uint8_t> filter = randomBytes(each.depth() * each.features);
  std::vector<uint8_t> matrix = each.matrix(image);
  std::vector<int32_t> expected(static_cast<size_t>(each.rows() * each.features), 5);
  multiplyBytes(each.product(false), matrix.data(), filter.data(), expected.data(), false, one,
                bytes::Kind::Plain);
  Tensor panels = packedColumns(each.product(true), filter.data());
  for (bytes::Kind kind :
       {bytes::Kind::DotProducts, bytes::Kind::WidePairs, bytes::Kind::Pairs, bytes::Kind::Plain})
    for (ThreadPool *pool : {&one, &three})
      for (bool packed : {false, true}) {
        if (!bytes::hasKind(kind))
          continue;
        std::vector<int32_t> found(expected.size(), 7);
        multiplyBytes(each.product(true), image.data(),
                      packed ? panels.as<uint8_t>() : filter.data(), found.data(), packed, *pool,
                      kind);
        EXPECT_EQ(found, expected) << "kind " << static_cast<int>(kind) << ", depth "
                                   << each.depth() << ", packed " << packed;
      }
}

TEST(BytePatches, AreExactForAllSigns) {
  for (bool unsignedImage : {false, true})
    for (bool unsignedFilter : {false, true})
      expectExact({{3, {1, 9, 11}, {1, 7, 9}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}},
                   2,
                   17,
                   unsignedImage,
                   unsignedFilter});
}

TEST(BytePatches, AreExactForRunsOfEveryLength) {
  for (int64_t channels : {1, 2, 5, 8, 13, 16, 40})
    expectExact({{channels, {1, 5, 9}, {1, 4, 7}, {1, 2, 3}, {1, 1, 1}, {1, 1, 1}}, 3, 5});
}

TEST(BytePatches, AreExactOverSeveralPassesAndBlocks) {
  expectExact({{50, {1, 20, 21}, {1, 18, 19}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}}, 2, 70});
}

TEST(BytePatches, AreExactForStridesAndDilations) {
  expectExact({{7, {1, 1, 40}, {1, 1, 12}, {1, 1, 5}, {1, 1, 3}, {1, 1, 1}}, 2, 33});
  expectExact({{3, {1, 15, 17}, {1, 5, 4}, {1, 3, 4}, {1, 2, 3}, {1, 3, 2}}, 2, 16});
  expectExact({{2, {5, 6, 7}, {2, 4, 3}, {2, 3, 2}, {2, 1, 2}, {2, 1, 1}}, 3, 9});
}

TEST(BytePatches, OfNothingTouchNothingAndOverNothingAreZero) {
  expectExact({{3, {1, 5, 5}, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}}, 0, 4});
  expectExact({{0, {1, 5, 5}, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}}, 1, 4});
  expectExact({{3, {1, 5, 5}, {1, 3, 3}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}}, 1, 0});
}

TEST(BytePatches, ThatLeaveTheImageAreFaults) {
  Step step;
  step.kind = Step::Kind::Library;
  step.symbol = "int8.conv";
  // Two images of 5 x 6 with 4 channels, windows of 3 x 3: 24 rows of 36 bytes; 8 features.
  const std::vector<int64_t> sound = {1, 24, 8, 36, 0, 0, 0, 0, 0, 36, 8, 8, 1, 0, 4,
                                      1, 5,  6, 1,  3, 4, 1, 3, 3, 1,  1, 1, 1, 1, 1};
  const std::vector<int64_t> bytes = {240, 288, 768};
  EXPECT_EQ(libraryFault(step, sound, bytes), "");
  for (size_t operand = 0; operand < bytes.size(); ++operand) {
    std::vector<int64_t> fewer = bytes;
    --fewer[operand];
    EXPECT_NE(libraryFault(step, sound, fewer), "") << "operand " << operand;
  }
  struct Damage {
    size_t parameter;
    int64_t value;
  };
  for (Damage damage : {Damage{0, 2},
                        {1, 25},
                        {1, -24},
                        {3, 35},
                        {4, 1},
                        {14, -4},
                        {16, 4},
                        {19, 4},
                        {22, 0},
                        {23, 4},
                        {25, 2},
                        {28, 0},
                        {29, 3},
                        {17, INT64_MAX},
                        {26, INT64_MAX}}) {
    std::vector<int64_t> damaged = sound;
    damaged[damage.parameter] = damage.value;
    EXPECT_NE(libraryFault(step, damaged, bytes), "") << "parameter " << damage.parameter;
  }
}

} // namespace
} // namespace headrace
