#include "analysis/cost/Rates.h"

#include <algorithm>
#include <cmath>

namespace headrace {

std::string_view nameOf(OperationKind kind) {
  static constexpr std::array<std::string_view, operationKinds> names = {
      "product", "window", "simple", "division", "elementary", "scalar"};
  return names[static_cast<size_t>(kind)];
}

double rounded(double value) {
  if (value == 0 || !std::isfinite(value))
    return value;
  double unit = std::pow(10, std::floor(std::log10(std::fabs(value))) - 1);
  // Through the shorter of the two powers: 0.37 and not 0.37000000000000005.
  return unit < 1 ? std::round(value / unit) / std::round(1 / unit)
                  : std::round(value / unit) * unit;
}

namespace {

/// The value between two points of a curve, on logarithmic scales; beyond its ends, theirs.
template <class Point, class At, class Value>
double interpolated(std::span<const Point> points, double where, At at, Value value) {
  auto above = std::find_if(points.begin(), points.end(),
                            [&](const Point &point) { return at(point) >= where; });
  if (above == points.begin())
    return value(points.front());
  if (above == points.end())
    return value(points.back());
  const Point &low = *std::prev(above), &high = *above;
  double share = std::log(where / at(low)) / std::log(at(high) / at(low));
  return value(low) * std::pow(value(high) / value(low), share);
}

} // namespace

double Rates::bytesPerMicrosecond(double workingSet, int count) const {
  double share = threads > 1 ? std::clamp((count - 1.0) / (threads - 1.0), 0.0, 1.0) : 0;
  auto speed = [&](const Bandwidth &level) {
    return level.ofOneThread + share * (level.ofAllThreads - level.ofOneThread);
  };
  return 1e3 * interpolated(
                   std::span<const Bandwidth>(memory), std::max(workingSet, 1.0),
                   [](const Bandwidth &level) { return level.bytes; }, speed);
}

double Rates::operationsPerMicrosecond(OperationKind kind, DType type) const {
  bool isHalf = type == DType::F16 || type == DType::BF16;
  const Speeds &speeds = isHalf && kind == OperationKind::Product ? narrow
                         : sizeOf(type) == 8                      ? f64
                                                                  : f32;
  return 1e3 * speeds[static_cast<size_t>(kind)];
}

double Rates::libraryOperationsPerMicrosecond(DType type, double side) const {
  const std::vector<LibrarySpeed> &speeds = type == DType::F64 ? libraryF64 : libraryF32;
  if (speeds.empty() || (type != DType::F64 && type != DType::F32))
    return 0;
  // Operands of fewer rows or columns are packed as often and used less.
  double small = std::min(1.0, side / speeds.front().side);
  return 1e3 * small *
         interpolated(
             std::span<const LibrarySpeed>(speeds), std::max(side, 1.0),
             [](const LibrarySpeed &point) { return point.side; },
             [](const LibrarySpeed &point) { return point.speed; });
}

} // namespace headrace
