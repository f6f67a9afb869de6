#include "image/Decode.h"
#include <gtest/gtest.h>
#include <string_view>

using namespace headrace::image;
using namespace std::string_view_literals;

namespace {

using Pixels = std::vector<uint8_t>;

std::optional<Picture> read(std::string_view text) {
  return decode({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
}

Pixels pixels(std::string_view text) {
  auto picture = read(text);
  return picture ? picture->rgb : Pixels{};
}

} // namespace

TEST(PortableMap, AllSixKinds) {
  EXPECT_EQ(pixels("P1 2 1 1 0"), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(pixels("P1 2 1\n10"), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(pixels("P2 2 1 255 7 9\n"), (Pixels{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(pixels("P3 1 1 255 7 8 9"), (Pixels{7, 8, 9}));
  EXPECT_EQ(pixels("P4 1 2\n\x80\x00"sv), (Pixels{0, 0, 0, 255, 255, 255}));
  EXPECT_EQ(pixels("P5 2 1 255\n\x07\x09"), (Pixels{7, 7, 7, 9, 9, 9}));
  EXPECT_EQ(pixels("P6 1 1 255\n\x07\x08\x09"), (Pixels{7, 8, 9}));
}

TEST(PortableMap, OtherRangesAreScaled) {
  EXPECT_EQ(pixels("P2 2 1 3 1 3"), (Pixels{85, 85, 85, 255, 255, 255}));
  EXPECT_EQ(pixels("P5 1 1 65535\n\x80\x00"sv), (Pixels{128, 128, 128}));
}

TEST(PortableMap, CommentsStandBetweenNumbers) {
  EXPECT_EQ(pixels("P2# made by hand\n1 #2\n1 255\n#\n4"), (Pixels{4, 4, 4}));
}

TEST(PortableMap, WhatIsMissingOrOutOfRangeIsDamage) {
  for (std::string_view text :
       {"P2"sv, "P2 1"sv, "P2 1 1"sv, "P2 1 1 255"sv, "P2 1 1 0 0"sv, "P2 1 1 70000 1"sv,
        "P2 1 1 9 10"sv, "P2 -1 1 255 1"sv, "P2 0 1 255 1"sv, "P1 1 1 2"sv, "P5 2 2 255\n123"sv,
        "P6 1 1 255"sv, "P5 1 1 9\n\x0A"sv, "P4 9 1\n\x80"sv, "P7 1 1 255\n1"sv,
        "P2 99999999999999999999 1 255 1"sv, "P2 100000000 100000000 255 1"sv})
    EXPECT_FALSE(read(text)) << text;
}
