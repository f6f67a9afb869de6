// The functions of device code, how far they may be from exact, and where that is tested: on the
// host, if they are compiled for it, and on a device.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace headrace::test {

struct MathCase {
  std::string name;
  long double (*exact)(long double);
  double low, high;        // where it is tested, besides around zero
  double units32, units64; // largest errors, in units of the last place
};

inline const std::vector<MathCase> &mathCases() {
  static const std::vector<MathCase> cases = {
      {"exp", expl, -80, 80, 3, 2},        {"exp2", exp2l, -120, 120, 3, 2},
      {"expm1", expm1l, -20, 80, 4, 4},    {"log", logl, 1e-30, 1e30, 3, 2},
      {"log2", log2l, 1e-30, 1e30, 3, 2},  {"log10", log10l, 1e-30, 1e30, 3, 4},
      {"log1p", log1pl, -0.99, 1e6, 3, 4}, {"tanh", tanhl, -20, 20, 3, 4},
      {"erf", erfl, -6, 6, 3, 4},          {"sin", sinl, -1e5, 1e5, 3, 2},
      {"cos", cosl, -1e5, 1e5, 3, 2},      {"tan", tanl, -1e5, 1e5, 1, 4},
      {"asin", asinl, -1, 1, 1, 4},        {"acos", acosl, -1, 1, 1, 4},
      {"atan", atanl, -50, 50, 1, 2},      {"sinh", sinhl, -80, 80, 1, 4},
      {"cosh", coshl, -80, 80, 1, 4},      {"asinh", asinhl, -1e6, 1e6, 1, 4},
      {"acosh", acoshl, 1, 1e6, 1, 4},     {"atanh", atanhl, -0.9999, 0.9999, 1, 4},
      {"cbrt", cbrtl, -1e9, 1e9, 1, 4},
  };
  return cases;
}

inline std::vector<double> mathPoints(const MathCase &c) {
  constexpr int kPoints = 20'000;
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> range(c.low, c.high);
  std::uniform_real_distribution<double> near(std::max(c.low, -1.0), std::min(c.high, 1.5));
  std::vector<double> points;
  for (int i = 0; i < kPoints; ++i)
    points.push_back(i % 2 ? range(random) : near(random));
  return points;
}

/// How far the value is from the exact one, in units of the last place.
template <class T> double unitsBetween(T value, long double exact) {
  T nearest = static_cast<T>(exact);
  if (std::isinf(nearest) || nearest == 0)
    return value == nearest ? 0 : INFINITY;
  long double unit = std::nextafter(std::fabs(nearest), T(INFINITY)) - std::fabs(nearest);
  return static_cast<double>(std::fabs(value - exact) / unit);
}

} // namespace headrace::test
