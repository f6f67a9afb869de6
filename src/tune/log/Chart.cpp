#include "tune/log/Chart.h"

#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Svg.h"

#include "tune/log/TuningLog.h"
#include <algorithm>
#include <array>
#include <cmath>

namespace headrace::tune {

namespace {

/// A kernel's fastest time so far in relation to the default's, trial by trial.
struct Curve {
  std::string kernel, name;
  std::vector<double> best;
};

std::vector<Curve> curvesOf(const std::vector<Trial> &trials) {
  std::vector<Curve> curves;
  for (const Trial &trial : trials) {
    auto found = std::ranges::find(curves, trial.kernel, &Curve::kernel);
    if (found == curves.end())
      found = curves.insert(curves.end(), {trial.kernel, trial.name, {1}});
    double before = found->best.back();
    found->best.push_back(
        trial.measurement.isMeasured() ? std::min(before, trial.measurement.ratio()) : before);
  }
  return curves;
}

} // namespace

void writeChart(const std::filesystem::path &log) {
  constexpr double kWidth = 760, kHeight = 420, kLeft = 60, kTop = 40, kRight = 200, kBottom = 50;
  constexpr std::array kColours = {"#1b6ca8", "#d1495b", "#2a9d54", "#8e5ea2",
                                   "#e08e0b", "#3d9ea0", "#7a5c3e", "#666666"};
  std::vector<Curve> curves = curvesOf(readLog(log).trials);
  size_t trials = 1;
  double lowest = 1;
  for (const Curve &curve : curves) {
    trials = std::max(trials, curve.best.size() - 1);
    lowest = std::min(lowest, curve.best.back());
  }
  // The axis begins at a tenth below the best, so that small gains are seen.
  double floor = std::max(0.0, std::floor(lowest * 10 - 0.5) / 10);
  double wide = kWidth - kLeft - kRight, high = kHeight - kTop - kBottom;
  auto x = [&](size_t trial) {
    return kLeft + wide * static_cast<double>(trial) / static_cast<double>(trials);
  };
  auto y = [&](double ratio) { return kTop + high * (1 - (ratio - floor) / (1 - floor)); };
  SvgPicture picture(kWidth, kHeight);
  picture.text(kLeft, 22, "Best time so far in relation to the untuned one", "font-size=\"15\"");
  for (double ratio = floor; ratio < 1.0001; ratio += (1 - floor) / 5) {
    picture.line(kLeft, y(ratio), kLeft + wide, y(ratio), "#dddddd");
    picture.text(kLeft - 40, y(ratio) + 4, svgNumber(ratio), "font-size=\"12\"");
  }
  double tick = std::max(1.0, tickDistance(static_cast<double>(trials)));
  for (double trial = 0; trial <= static_cast<double>(trials); trial += tick)
    picture.text(x(static_cast<size_t>(trial)) - 4, kTop + high + 18,
                 std::to_string(static_cast<int>(trial)), "font-size=\"12\"");
  picture.text(kLeft + wide / 2 - 20, kHeight - 12, "trials", "font-size=\"12\"");
  for (size_t i = 0; i < curves.size(); ++i) {
    const Curve &curve = curves[i];
    const char *colour = kColours[i % kColours.size()];
    for (size_t trial = 1; trial < curve.best.size(); ++trial) {
      picture.line(x(trial - 1), y(curve.best[trial - 1]), x(trial), y(curve.best[trial - 1]),
                   colour, 1.5);
      picture.line(x(trial), y(curve.best[trial - 1]), x(trial), y(curve.best[trial]), colour, 1.5);
    }
    double row = kTop + 16 * static_cast<double>(i);
    if (row > kHeight - 20)
      continue;
    picture.box(kLeft + wide + 12, row - 8, 10, 10, colour, curve.name);
    std::string name =
        curve.name.size() > 24 ? "..." + curve.name.substr(curve.name.size() - 21) : curve.name;
    picture.text(kLeft + wide + 28, row + 1, name, "font-size=\"11\"");
  }
  std::string svg = std::move(picture).finish();
  writeFileAtomically(log.string() + ".svg", {std::as_bytes(std::span(svg))});
}

} // namespace headrace::tune
