#include "target/vta/schedule/choose/Roofline.h"

#include "runtime/system/Svg.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace headrace::vta {

namespace {

constexpr double width = 860, height = 560;
constexpr double left = 80, right = 610, top = 50, bottom = 500; // of the plot
constexpr double legend = 640;
const char *const roofColour = "#444", *const gridColour = "#ddd", *const oneColour = "#d62728",
                  *const twoColour = "#1f77b4";

/// An axis of powers of two.
class Axis2 {
public:
  Axis2(double least, double most, double from, double to)
      : least(std::floor(std::log2(least))), most(std::ceil(std::log2(most))), from(from), to(to) {}

  double place(double value) const {
    return from + (std::log2(value) - least) / (most - least) * (to - from);
  }
  double first() const { return std::exp2(least); }
  double last() const { return std::exp2(most); }

private:
  double least, most, from, to;
};

struct Spot {
  double intensity, rate;
};

Spot spotOf(int64_t macs, const ScheduleReport &report) {
  return {static_cast<double>(macs) / static_cast<double>(report.work.bytesRead()),
          static_cast<double>(macs) / static_cast<double>(report.cycles)};
}

std::string shortNumber(double value) {
  return value >= 1 ? std::to_string(static_cast<int64_t>(value)) : svgNumber(value);
}

std::string percent(double share) {
  std::string text = svgNumber(std::round(share * 1000) / 10);
  return text.substr(0, text.size() - 1) + "%";
}

class RooflinePicture {
public:
  RooflinePicture(const std::vector<RooflinePoint> &points, double peak, double bytesPerCycle)
      : points(points), peak(peak), ridge(peak / bytesPerCycle), picture(width, height),
        x(minIntensity() / 2, maxIntensity() * 2, left, right),
        y(minRate() / 2, peak, bottom, top) {}

  std::string draw() && {
    drawAxes();
    picture.line(x.place(x.first()), y.place(std::max(y.first(), x.first() * peak / ridge)),
                 x.place(ridge), y.place(peak), roofColour, 2);
    picture.line(x.place(ridge), y.place(peak), right, y.place(peak), roofColour, 2);
    picture.text(right, y.place(peak) - 8, "the matrix unit: " + shortNumber(peak),
                 "text-anchor=\"end\" font-size=\"11\"");
    picture.text(x.place(ridge / 4) + 8, y.place(peak / 4) + 14,
                 "reading: " + shortNumber(peak / ridge) + " bytes per cycle", "font-size=\"11\"");
    drawPoints();
    return std::move(picture).finish();
  }

private:
  template <class Read> double least(Read read) const {
    double value = std::numeric_limits<double>::max();
    for (const RooflinePoint &point : points)
      for (const ScheduleReport *report : {&point.oneThread, &point.twoThreads})
        value = std::min(value, read(spotOf(point.macs, *report)));
    return value;
  }
  double minIntensity() const {
    return std::min(ridge / 4, least([](const Spot &spot) { return spot.intensity; }));
  }
  double maxIntensity() const {
    return std::max(ridge * 4, -least([](const Spot &spot) { return -spot.intensity; }));
  }
  double minRate() const {
    return std::min(peak / 4, least([](const Spot &spot) { return spot.rate; }));
  }

  void drawAxes() {
    picture.text(left, 24, "Multiplications a cycle, of a peak of " + shortNumber(peak),
                 "font-size=\"15\"");
    for (double value = x.first(); value <= x.last(); value *= 2) {
      picture.verticalLine(x.place(value), top, bottom, gridColour);
      picture.text(x.place(value), bottom + 18, shortNumber(value), "text-anchor=\"middle\"");
    }
    for (double value = y.first(); value <= y.last(); value *= 2) {
      picture.line(left, y.place(value), right, y.place(value), gridColour);
      picture.text(left - 8, y.place(value) + 4, shortNumber(value), "text-anchor=\"end\"");
    }
    picture.text((left + right) / 2, bottom + 40, "multiplications for each byte that is read",
                 "text-anchor=\"middle\"");
  }

  // A line joins the two schedules of a layer; its number is the legend's.
  void drawPoints() {
    picture.circle(legend, top + 4, 6, "#fff", "", ring());
    picture.text(legend + 14, top + 8, "one virtual thread");
    picture.circle(legend, top + 26, 6, twoColour);
    picture.text(legend + 14, top + 30, "two: transfers are hidden");
    for (size_t i = 0; i < points.size(); ++i) {
      const RooflinePoint &point = points[i];
      Spot one = spotOf(point.macs, point.oneThread), two = spotOf(point.macs, point.twoThreads);
      std::string number = std::to_string(i + 1);
      std::string shares = percent(one.rate / peak) + " and " + percent(two.rate / peak);
      picture.line(x.place(one.intensity), y.place(one.rate), x.place(two.intensity),
                   y.place(two.rate), "#bbb");
      drawPoint(one, number, point.name + ": " + shares, "#fff", oneColour);
      drawPoint(two, number, point.name + ": " + shares, twoColour, "#fff");
      double at = top + 62 + 30 * static_cast<double>(i);
      picture.text(legend + 8, at, number, "text-anchor=\"end\"");
      picture.text(legend + 14, at, point.name);
      picture.text(legend + 14, at + 13, shares + " of the peak", "font-size=\"11\" fill=\"#777\"");
    }
  }

  void drawPoint(const Spot &spot, const std::string &number, const std::string &note,
                 const char *ground, const std::string &ink) {
    picture.circle(x.place(spot.intensity), y.place(spot.rate), 7, ground, note,
                   ink == oneColour ? ring() : "");
    picture.text(x.place(spot.intensity), y.place(spot.rate) + 3.5, number,
                 "font-size=\"9\" text-anchor=\"middle\" fill=\"" + ink + "\"");
  }

  static std::string ring() {
    return std::string("stroke=\"") + oneColour + "\" stroke-width=\"2\"";
  }

  const std::vector<RooflinePoint> &points;
  double peak, ridge;
  SvgPicture picture;
  Axis2 x, y;
};

} // namespace

std::string rooflineSvg(const std::vector<RooflinePoint> &points,
                        const Configuration &configuration, const CycleConstants &constants) {
  return RooflinePicture(points, static_cast<double>(configuration.macsPerMicroOp()),
                         static_cast<double>(constants.bytesPerCycle))
      .draw();
}

} // namespace headrace::vta
