#include "script/language/Subscripts.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace headrace::script {

namespace {

using Linear = Polynomial::Linear;

bool isWhole(double number) { return number == std::floor(number) && std::fabs(number) < 0x1p53; }

/// The numbers in `rest + slope * i`, if both are numbers.
struct Line {
  double rest, slope;
};

std::optional<Line> lineOf(const std::optional<Linear> &linear) {
  if (!linear)
    return std::nullopt;
  auto rest = linear->rest.constant(), slope = linear->slope.constant();
  return rest && slope ? std::optional(Line{*rest, *slope}) : std::nullopt;
}

std::optional<double> numberOf(const std::optional<Polynomial> &polynomial) {
  return polynomial ? polynomial->constant() : std::nullopt;
}

std::optional<Linear> linearOf(const std::optional<Polynomial> &bound, const LoopRange &loop) {
  return bound ? bound->linearIn(loop.name) : std::nullopt;
}

/// a.rest + a.slope * i = b.rest + b.slope * j has no whole solutions.
bool apartByDivisor(const Line &a, const Line &b) {
  double distance = b.rest - a.rest;
  if (!isWhole(a.slope) || !isWhole(b.slope) || !isWhole(distance))
    return false;
  auto divisor = std::gcd(static_cast<int64_t>(a.slope), static_cast<int64_t>(b.slope));
  return divisor == 0 ? distance != 0 : std::fmod(distance, static_cast<double>(divisor)) != 0;
}

struct Bounds {
  double least, most;
};

Bounds boundsOf(const Line &line, Bounds iterations) {
  auto [least, most] = std::minmax(line.slope * iterations.least, line.slope * iterations.most);
  return {line.rest + least, line.rest + most};
}

bool apartByBounds(const Line &aFirst, const Line &aLast, const Line &bFirst, const Line &bLast,
                   Bounds iterations) {
  return boundsOf(aLast, iterations).most < boundsOf(bFirst, iterations).least ||
         boundsOf(bLast, iterations).most < boundsOf(aFirst, iterations).least;
}

/// Whether lines of equal slope never meet in two iterations: these would be a fixed distance
/// apart, which may be 0, not a multiple of the step, or longer than the loop.
bool apartByDistance(const Line &a, const Line &b, std::optional<double> step,
                     std::optional<Bounds> iterations) {
  if (a.slope != b.slope || a.slope == 0)
    return false;
  double distance = (b.rest - a.rest) / a.slope;
  return distance == 0 || (step && !isWhole(distance / *step)) ||
         (iterations && std::fabs(distance) > iterations->most - iterations->least);
}

/// At least 1, whatever its names stand for.
bool isPositive(const Polynomial &polynomial) {
  auto number = polynomial.constant();
  return number && *number >= 1;
}

/// Ranges that move by the same amount from one iteration to the next, and do not reach the next
/// one's place in the direction of that movement.
bool apartByMovement(const Linear &aFirst, const Linear &aLast, const Linear &bFirst,
                     const Linear &bLast, const Polynomial &step) {
  if (!(aFirst.slope == aLast.slope && aFirst.slope == bFirst.slope && aFirst.slope == bLast.slope))
    return false;
  Polynomial movement = aFirst.slope * step;
  bool upwards = isPositive(bFirst.rest + movement - aLast.rest) &&
                 isPositive(aFirst.rest + movement - bLast.rest);
  bool downwards = isPositive(aFirst.rest - movement - bLast.rest) &&
                   isPositive(bFirst.rest - movement - aLast.rest);
  return upwards || downwards;
}

std::optional<Bounds> iterationsOf(const LoopRange &loop) {
  auto from = numberOf(loop.from), to = numberOf(loop.to);
  if (!from || !to)
    return std::nullopt;
  return Bounds{std::min(*from, *to), std::max(*from, *to)};
}

} // namespace

bool neverMeet(const SubscriptRange &a, const SubscriptRange &b, const LoopRange &loop) {
  auto aFirst = linearOf(a.first, loop), aLast = linearOf(a.last, loop);
  auto bFirst = linearOf(b.first, loop), bLast = linearOf(b.last, loop);
  if (!aFirst || !aLast || !bFirst || !bLast)
    return false;
  if (loop.step && apartByMovement(*aFirst, *aLast, *bFirst, *bLast, *loop.step))
    return true;
  auto left = lineOf(aFirst), leftEnd = lineOf(aLast);
  auto right = lineOf(bFirst), rightEnd = lineOf(bLast);
  if (!left || !leftEnd || !right || !rightEnd)
    return false;
  auto iterations = iterationsOf(loop);
  bool fixed = left->slope == 0 && leftEnd->slope == 0 && right->slope == 0 && rightEnd->slope == 0;
  if ((iterations || fixed) &&
      apartByBounds(*left, *leftEnd, *right, *rightEnd, iterations.value_or(Bounds{0, 0})))
    return true;
  bool single = *a.first == *a.last && *b.first == *b.last;
  return single && (apartByDivisor(*left, *right) ||
                    apartByDistance(*left, *right, numberOf(loop.step), iterations));
}

SubscriptRange overIterations(const SubscriptRange &range, const LoopRange &inner) {
  // One bound where the inner loop begins, or ends, by the sign of its variable's factor.
  auto bound = [&](const std::optional<Polynomial> &at, bool least) -> std::optional<Polynomial> {
    auto linear = linearOf(at, inner);
    if (!linear)
      return std::nullopt;
    auto slope = linear->slope.constant();
    if (slope == 0)
      return at;
    if (!slope || !inner.from || !inner.to)
      return std::nullopt;
    auto step = numberOf(inner.step);
    if (!step)
      return std::nullopt;
    bool atFrom = (*slope > 0) == (*step > 0) ? least : !least;
    return linear->rest + linear->slope * (atFrom ? *inner.from : *inner.to);
  };
  return {bound(range.first, true), bound(range.last, false)};
}

} // namespace headrace::script
