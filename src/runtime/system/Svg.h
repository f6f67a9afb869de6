// Charts of what happened when, as SVG.
#pragma once

#include <string>
#include <string_view>

namespace headrace {

/// Text, boxes, circles and lines on a white ground, in the order they are drawn.
class SvgPicture {
public:
  SvgPicture(double width, double height);

  /// `attributes` are SVG's own, as they are written there.
  void text(double x, double y, std::string_view words, std::string_view attributes = "");
  /// `note` is shown where a pointer rests on the box.
  void box(double x, double y, double width, double height, std::string_view colour,
           std::string_view note = "");
  void circle(double x, double y, double radius, std::string_view colour,
              std::string_view note = "", std::string_view attributes = "");
  void line(double x1, double y1, double x2, double y2, std::string_view colour, double width = 1);
  void verticalLine(double x, double from, double to, std::string_view colour, double width = 1);

  /// The document; nothing is drawn afterwards.
  std::string finish() &&;

private:
  std::string svg;
};

/// With two decimals, which is finer than a chart shows.
std::string svgNumber(double value);

/// The distance of five to ten ticks on an axis from 0 to `end`: 1, 2 or 5 times a power of ten.
double tickDistance(double end);

} // namespace headrace
