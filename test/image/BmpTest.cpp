#include "runtime/system/Error.h"

#include "image/Decode.h"
#include <gtest/gtest.h>

using namespace headrace;
using namespace headrace::image;

namespace {

using Pixels = std::vector<uint8_t>;

void append(Pixels &bytes, uint32_t value, int count) {
  for (int i = 0; i < count; ++i)
    bytes.push_back(static_cast<uint8_t>(i < 4 ? value >> 8 * i : 0));
}

/// A file with a header of 40 bytes.
Pixels bmp(int32_t width, int32_t height, uint16_t bits, uint32_t compression,
           const Pixels &between, const Pixels &pixels, uint32_t colors = 0) {
  Pixels result{'B', 'M'};
  append(result, 0, 8);
  append(result, static_cast<uint32_t>(54 + between.size()), 4);
  append(result, 40, 4);
  append(result, width, 4);
  append(result, height, 4);
  append(result, 1, 2);
  append(result, bits, 2);
  append(result, compression, 4);
  append(result, 0, 12);
  append(result, colors, 4);
  append(result, 0, 4);
  result.insert(result.end(), between.begin(), between.end());
  result.insert(result.end(), pixels.begin(), pixels.end());
  return result;
}

} // namespace

TEST(Bmp, RowsComeFromTheBottomAndBlueComesFirst) {
  auto picture = decode(bmp(1, 2, 24, 0, {}, {1, 2, 3, 0, 4, 5, 6, 0}));
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->rgb, (Pixels{6, 5, 4, 3, 2, 1}));
}

TEST(Bmp, NegativeHeightIsFromTheTop) {
  auto picture = decode(bmp(1, -2, 24, 0, {}, {1, 2, 3, 0, 4, 5, 6, 0}));
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->height, 2);
  EXPECT_EQ(picture->rgb, (Pixels{3, 2, 1, 6, 5, 4}));
}

TEST(Bmp, PalettesOfOneFourAndEightBits) {
  Pixels palette{0, 0, 0, 0, 10, 20, 30, 0};
  Pixels expected{30, 20, 10, 0, 0, 0, 30, 20, 10};
  for (auto [bits, row] : {std::pair<uint16_t, Pixels>{1, {0b10100000, 0, 0, 0}},
                           {4, {0x10, 0x10, 0, 0}},
                           {8, {1, 0, 1, 0}}}) {
    auto picture = decode(bmp(3, 1, bits, 0, palette, row, 2));
    ASSERT_TRUE(picture) << bits;
    EXPECT_EQ(picture->rgb, expected) << bits;
  }
}

TEST(Bmp, AColorOutsideOfThePaletteIsDamage) {
  EXPECT_FALSE(decode(bmp(1, 1, 8, 0, {0, 0, 0, 0}, {1, 0, 0, 0}, 1)));
}

TEST(Bmp, SixteenBitsAreScaledToBytes) {
  auto picture = decode(bmp(2, 1, 16, 0, {}, {0xFF, 0x7F, 0x00, 0x40})); // all; half of red
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->rgb, (Pixels{255, 255, 255, 132, 0, 0}));
}

TEST(Bmp, MasksSayWhereColorsAre) {
  Pixels masks{0xFF, 0, 0, 0, 0, 0xFF, 0, 0, 0, 0, 0, 0xFF};
  auto picture = decode(bmp(1, 1, 32, 3, masks, {1, 2, 99, 3}));
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->rgb, (Pixels{1, 2, 3}));
}

TEST(Bmp, MasksOfNothingAreBlack) {
  auto picture = decode(bmp(1, 1, 32, 3, Pixels(12, 0), {1, 2, 3, 4}));
  ASSERT_TRUE(picture);
  EXPECT_EQ(picture->rgb, (Pixels{0, 0, 0}));
}

TEST(Bmp, CompressionIsRefusedByItsNumber) {
  try {
    decode(bmp(1, 1, 8, 1, {0, 0, 0, 0}, {1, 0, 0, 1}, 1));
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "expected an uncompressed BMP image, got one of kind 1");
  }
}

TEST(Bmp, WhatIsCutAnywhereIsNoPicture) {
  Pixels whole = bmp(3, 5, 24, 0, {}, Pixels(60, 7));
  ASSERT_TRUE(decode(whole));
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(decode(Bytes(whole).first(size))) << size;
}

TEST(Bmp, SizesWithoutPixelsTakeNoMemory) {
  for (int32_t size : {0, -1, INT32_MIN, INT32_MAX})
    EXPECT_FALSE(decode(bmp(size, size, 32, 0, {}, {1, 2, 3, 4}))) << size;
  EXPECT_FALSE(decode(bmp(1, 1, 7, 0, {}, {1, 2, 3, 4})));
}
