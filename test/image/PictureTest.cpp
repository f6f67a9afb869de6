#include "runtime/system/Error.h"

#include "image/Decode.h"
#include "image/formats/SystemLibrary.h"
#include <gtest/gtest.h>

using namespace headrace;
using namespace headrace::image;

TEST(Picture, UnknownBytesAreNone) {
  EXPECT_FALSE(decode({}));
  for (std::vector<uint8_t> bytes :
       {std::vector<uint8_t>{0}, {'B'}, {'P'}, {'P', '9'}, {0x89, 'P', 'N'}, {'G', 'I', 'F', '8'}})
    EXPECT_FALSE(decode(bytes));
}

TEST(Picture, TheBeginAloneIsNoPicture) {
  for (std::string begin :
       {std::string("\xFF\xD8\xFF"), std::string("\x89PNG\r\n\x1A\n"),
        std::string("RIFF\0\0\0\0WEBP", 12), std::string("II*\0", 4), std::string("MM\0+", 4),
        std::string("\0\0\0\x0CjP  \r\n\x87\n", 12), std::string("\xFF\x4F\xFF\x51")})
    EXPECT_FALSE(decode({reinterpret_cast<const uint8_t *>(begin.data()), begin.size()})) << begin;
}

TEST(Picture, MoreThanTheMostPixelsAreRefusedWithTheirNumber) {
  EXPECT_NO_THROW(Picture(1, 1000));
  for (auto [height, width] :
       {std::pair<int64_t, int64_t>{1 << 20, 1 << 20}, {INT64_MAX, INT64_MAX}, {1, kMaxPixels + 1}})
    EXPECT_THROW(Picture(height, width), Error);
  try {
    Picture picture(1 << 20, 1 << 10);
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "expected an image of at most 134217728 pixels, got one of "
                               "1024 x 1048576");
  }
}

TEST(Picture, AMissingLibraryIsNamedWithItsPackage) {
  try {
    SystemLibrary("PNG", "libno-such-library.so.1", "libno-such1");
    FAIL();
  } catch (const Error &error) {
    EXPECT_STREQ(error.what(), "expected the library libno-such-library.so.1 to decode an image "
                               "in PNG, which this system lacks; Debian's package libno-such1 has "
                               "it");
  }
}
