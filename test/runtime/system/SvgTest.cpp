#include "runtime/system/Svg.h"

#include <gtest/gtest.h>

namespace headrace {
namespace {

TEST(Svg, WordsAndNotesAreEscaped) {
  SvgPicture picture(100, 50);
  picture.text(1, 2, "a < b & \"c\"");
  picture.box(0, 0, 1, 1, "#fff", "x<y");
  std::string svg = std::move(picture).finish();
  EXPECT_NE(svg.find(">a &lt; b &amp; &quot;c&quot;</text>"), std::string::npos) << svg;
  EXPECT_NE(svg.find("<title>x&lt;y</title></rect>"), std::string::npos) << svg;
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n")) << svg;
}

TEST(Svg, AnAxisHasAFewTicksAtRoundNumbers) {
  EXPECT_EQ(tickDistance(0), 1);
  EXPECT_EQ(tickDistance(8), 1);
  EXPECT_EQ(tickDistance(20), 2);
  EXPECT_EQ(tickDistance(50), 5);
  for (double end = 10; end < 1e12; end *= 1.7) {
    double ticks = end / tickDistance(end);
    EXPECT_GE(ticks, 4) << end;
    EXPECT_LE(ticks, 14) << end;
  }
}

} // namespace
} // namespace headrace
