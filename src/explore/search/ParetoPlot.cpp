#include "explore/search/ParetoPlot.h"

#include "runtime/system/Svg.h"

#include <array>
#include <cmath>
#include <map>

namespace headrace::explore {

namespace {

constexpr std::array<const char *, 6> colours = {"#4c78a8", "#f58518", "#54a24b",
                                                 "#b279a2", "#e45756", "#72b7b2"};

// Numbers from the least to the greatest, with some room, on a line of pixels.
class LogarithmicAxis {
public:
  LogarithmicAxis(double least, double greatest, double from, double to) : from(from), to(to) {
    low = std::log10(std::max(least, 1.0)) - 0.06;
    high = std::max(std::log10(std::max(greatest, 1.0)), low + 0.1) + 0.06;
  }

  double at(double value) const {
    return from + (to - from) * (std::log10(std::max(value, 1.0)) - low) / (high - low);
  }

  /// 1, 2 and 5 times the powers of ten that are on it, and more if there is room.
  std::vector<double> ticks() const {
    std::vector<double> found, digits = {1, 2, 5};
    if (high - low < 1)
      digits = {1, 1.5, 2, 3, 4, 5, 6, 8};
    for (int power = static_cast<int>(std::floor(low)); power <= high; ++power)
      for (double digit : digits)
        if (double exponent = power + std::log10(digit); exponent >= low && exponent <= high)
          found.push_back(digit * std::pow(10, power));
    return found;
  }

private:
  double low, high, from, to;
};

std::string shortNumber(double value) {
  for (auto [unit, name] : {std::pair(1e9, "G"), std::pair(1e6, "M"), std::pair(1e3, "K")})
    if (value >= unit) {
      std::string digits = svgNumber(value / unit);
      digits.erase(digits.find_last_not_of('0') + 1);
      return (digits.back() == '.' ? digits.substr(0, digits.size() - 1) : digits) + name;
    }
  return std::to_string(static_cast<int64_t>(value));
}

class Plot {
public:
  explicit Plot(const std::vector<Outcome> &outcomes) : outcomes(outcomes) {
    for (const Outcome &outcome : outcomes) {
      colourOf.try_emplace(outcome.processingElements(), "");
      maxBuffers = std::max(maxBuffers, outcome.buffers);
    }
    size_t number = 0;
    for (auto &[elements, colour] : colourOf)
      colour = colours[number++ % colours.size()];
  }

  std::string draw(const std::string &title) {
    SvgPicture svg(900, 600);
    svg.text(left, 24, title, "font-size=\"14\" font-weight=\"bold\"");
    drawAxes(svg);
    for (const auto &[elements, colour] : colourOf)
      drawFront(svg, elements, colour);
    for (const Outcome &outcome : outcomes)
      if (!outcome.pareto)
        drawOutcome(svg, outcome);
    for (const Outcome &outcome : outcomes)
      if (outcome.pareto)
        drawOutcome(svg, outcome);
    drawLegend(svg);
    return std::move(svg).finish();
  }

private:
  static constexpr double left = 80, right = 870, top = 70, bottom = 540;

  LogarithmicAxis axis(auto measure, double from, double to) const {
    auto [least, greatest] = std::ranges::minmax(outcomes, {}, measure);
    return {double(measure(least)), double(measure(greatest)), from, to};
  }

  void drawAxes(SvgPicture &svg) {
    svg.box(left, top, right - left, bottom - top, "#f6f6f6");
    for (double tick : across.ticks()) {
      svg.verticalLine(across.at(tick), top, bottom, "#ddd", 0.7);
      svg.text(across.at(tick), bottom + 16, shortNumber(tick), "text-anchor=\"middle\"");
    }
    for (double tick : up.ticks()) {
      svg.line(left, up.at(tick), right, up.at(tick), "#ddd", 0.7);
      svg.text(left - 8, up.at(tick) + 4, shortNumber(tick), "text-anchor=\"end\"");
    }
    svg.text((left + right) / 2, bottom + 38, "elements that cross off-chip memory",
             "text-anchor=\"middle\"");
    svg.text(left - 60, top - 12, "makespan in cycles");
  }

  void drawFront(SvgPicture &svg, int elements, const std::string &colour) {
    std::vector<const Outcome *> sorted;
    for (const Outcome &outcome : outcomes)
      if (outcome.processingElements() == elements)
        sorted.push_back(&outcome);
    std::ranges::sort(sorted, {}, [](const Outcome *outcome) {
      return std::pair(outcome->offChip, outcome->schedule.makespan);
    });
    const Outcome *before = nullptr;
    for (const Outcome *outcome : sorted) {
      if (before && outcome->schedule.makespan >= before->schedule.makespan)
        continue;
      if (before)
        svg.line(x(*before), y(*before), x(*outcome), y(*outcome), colour, 1.5);
      before = outcome;
    }
  }

  void drawOutcome(SvgPicture &svg, const Outcome &outcome) {
    double share = maxBuffers > 0 ? double(outcome.buffers) / double(maxBuffers) : 0;
    const std::string &colour = colourOf[outcome.processingElements()];
    std::string note = outcome.implementation + ", " +
                       std::to_string(outcome.processingElements()) +
                       " processing elements: " + std::to_string(outcome.schedule.makespan) +
                       " cycles, " + std::to_string(outcome.offChip) + " off-chip, " +
                       std::to_string(outcome.buffers) + " in buffers";
    if (!outcome.forms.empty())
      note += " (" + outcome.forms + ")";
    double radius = 4 + 14 * std::sqrt(share);
    svg.circle(x(outcome), y(outcome), radius, outcome.pareto ? colour : "#fff", note,
               "fill-opacity=\"0.6\" stroke=\"" + colour + "\"");
    label(svg, outcome, radius);
  }

  // Names that would cover another are left to the notes.
  void label(SvgPicture &svg, const Outcome &outcome, double radius) {
    double atX = x(outcome) + radius + 3, atY = y(outcome) + 4;
    double width = 6.0 * static_cast<double>(outcome.implementation.size());
    if (atX + width > right)
      atX = x(outcome) - radius - 3 - width;
    for (const auto &[otherX, otherY, otherWidth] : labels)
      if (std::abs(otherY - atY) < 12 && atX < otherX + otherWidth && otherX < atX + width)
        return;
    labels.push_back({atX, atY, width});
    svg.text(atX, atY, outcome.implementation, "font-size=\"11\"");
  }

  void drawLegend(SvgPicture &svg) {
    double atX = left + 130;
    for (const auto &[elements, colour] : colourOf) {
      svg.circle(atX, top - 16, 6, colour, "", "fill-opacity=\"0.6\"");
      svg.text(atX + 10, top - 12, std::to_string(elements) + " processing elements");
      atX += 180;
    }
    svg.text(atX, top - 12, "filled: no other beats it; area: buffers", "fill=\"#777\"");
  }

  double x(const Outcome &outcome) const { return across.at(double(outcome.offChip)); }
  double y(const Outcome &outcome) const { return up.at(double(outcome.schedule.makespan)); }

  struct Label {
    double x, y, width;
  };

  const std::vector<Outcome> &outcomes;
  std::map<int, std::string> colourOf;
  int64_t maxBuffers = 0;
  std::vector<Label> labels;
  LogarithmicAxis across = axis([](const Outcome &o) { return o.offChip; }, left, right);
  LogarithmicAxis up = axis([](const Outcome &o) { return o.schedule.makespan; }, bottom, top);
};

} // namespace

std::string paretoSvg(const std::vector<Outcome> &outcomes, const std::string &title) {
  return outcomes.empty() ? std::move(SvgPicture(900, 600)).finish() : Plot(outcomes).draw(title);
}

} // namespace headrace::explore
