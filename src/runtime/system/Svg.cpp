#include "runtime/system/Svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace headrace {

static std::string escapedXml(std::string_view text) {
  std::string result;
  for (char c : text)
    result += c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : std::string(1, c);
  return result;
}

static std::string attribute(std::string_view name, std::string_view value) {
  return " " + std::string(name) + "=\"" + std::string(value) + "\"";
}

static std::string attribute(std::string_view name, double value) {
  return attribute(name, svgNumber(value));
}

std::string svgNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2f", value);
  return text;
}

SvgPicture::SvgPicture(double width, double height) {
  svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + attribute("width", width) +
        attribute("height", height) +
        attribute("viewBox", "0 0 " + svgNumber(width) + " " + svgNumber(height)) +
        " font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n";
  box(0, 0, width, height, "#fff");
}

void SvgPicture::text(double x, double y, std::string_view words, std::string_view attributes) {
  svg += "<text" + attribute("x", x) + attribute("y", y) + " " + std::string(attributes) + ">" +
         escapedXml(words) + "</text>\n";
}

void SvgPicture::box(double x, double y, double width, double height, std::string_view colour,
                     std::string_view note) {
  svg += "<rect" + attribute("x", x) + attribute("y", y) + attribute("width", width) +
         attribute("height", height) + attribute("fill", colour);
  svg += note.empty() ? "/>\n" : "><title>" + escapedXml(note) + "</title></rect>\n";
}

void SvgPicture::circle(double x, double y, double radius, std::string_view colour,
                        std::string_view note, std::string_view attributes) {
  svg += "<circle" + attribute("cx", x) + attribute("cy", y) + attribute("r", radius) +
         attribute("fill", colour) + " " + std::string(attributes);
  svg += note.empty() ? "/>\n" : "><title>" + escapedXml(note) + "</title></circle>\n";
}

void SvgPicture::line(double x1, double y1, double x2, double y2, std::string_view colour,
                      double width) {
  svg += "<line" + attribute("x1", x1) + attribute("x2", x2) + attribute("y1", y1) +
         attribute("y2", y2) + attribute("stroke", colour) + attribute("stroke-width", width) +
         "/>\n";
}

void SvgPicture::verticalLine(double x, double from, double to, std::string_view colour,
                              double width) {
  line(x, from, x, to, colour, width);
}

std::string SvgPicture::finish() && {
  svg += "</svg>\n";
  return std::move(svg);
}

double tickDistance(double end) {
  double rough = std::max(1.0, end / 8);
  double power = std::pow(10, std::floor(std::log10(rough))), ratio = rough / power;
  return power * (ratio < 1.5 ? 1 : ratio < 3.5 ? 2 : ratio < 7.5 ? 5 : 10);
}

} // namespace headrace
