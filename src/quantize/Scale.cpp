#include "quantize/Scale.h"

#include <algorithm>
#include <cmath>

namespace headrace::quantize {

/// The shares of the largest magnitude at which numbers may be clipped.
static constexpr int kShares = 100, kMinShare = 40;
/// The number of powers of two by which the range may be cut.
static constexpr int kMaxCuts = 4;

/// Below it, products of two scales leave the range of f32.
static constexpr float kMinScale = 0x1p-60f;

static double square(double x) { return x * x; }

void Histogram::add(std::span<const float> numbers) {
  if (greatest == 0) {
    counts.front() += numbers.size();
    return;
  }
  auto bins = static_cast<double>(kBins);
  for (float number : numbers) {
    double place = std::fabs(static_cast<double>(number)) / greatest * bins;
    ++counts[std::min(kBins - 1, static_cast<size_t>(place))];
  }
}

double Histogram::middleOf(size_t bin) const {
  return (static_cast<double>(bin) + 0.5) * greatest / static_cast<double>(kBins);
}

double Histogram::percentile(double percent) const {
  double all = 0, below = 0;
  for (uint64_t count : counts)
    all += static_cast<double>(count);
  for (size_t bin = 0; bin < kBins; ++bin) {
    below += static_cast<double>(counts[bin]);
    if (below >= all * percent / 100)
      return greatest * static_cast<double>(bin + 1) / static_cast<double>(kBins);
  }
  return greatest;
}

double Histogram::squaredError(double scale) const {
  double sum = 0;
  for (size_t bin = 0; bin < kBins; ++bin) {
    if (counts[bin] == 0)
      continue;
    double number = middleOf(bin);
    double rounded = std::min<double>(std::nearbyint(number / scale), kMaxInteger) * scale;
    sum += static_cast<double>(counts[bin]) * square(number - rounded);
  }
  return sum;
}

float powerOfTwo(double scale) {
  int exponent;
  double fraction = std::frexp(scale, &exponent); // in [0.5, 1)
  return static_cast<float>(std::ldexp(1.0, fraction == 0.5 ? exponent - 1 : exponent));
}

/// The scale of least error among those that may be chosen for numbers up to `largest`.
template <class Error> static float bestScale(double largest, ScaleKind kind, Error error) {
  float best = 0;
  double least = INFINITY;
  auto consider = [&](float scale) {
    if (double found = error(scale); found < least) {
      least = found;
      best = scale;
    }
  };
  if (kind == ScaleKind::PowerOfTwo) {
    float whole = powerOfTwo(largest / kMaxInteger);
    for (int cut = 0; cut <= kMaxCuts; ++cut)
      consider(std::ldexp(whole, -cut));
  } else {
    for (int share = kShares; share >= kMinShare; share -= 2)
      consider(static_cast<float>(largest * share / (kShares * kMaxInteger)));
  }
  return std::max(best, kMinScale);
}

float scaleOf(const Histogram &histogram, const Options &options) {
  double largest = histogram.largest();
  if (largest == 0)
    return 1;
  if (options.ranges == RangeMethod::SquaredError)
    return bestScale(largest, options.scales,
                     [&](float scale) { return histogram.squaredError(scale); });
  if (options.ranges == RangeMethod::Percentile)
    largest = histogram.percentile(options.percentile);
  double scale = largest / kMaxInteger;
  return std::max(kMinScale, options.scales == ScaleKind::PowerOfTwo ? powerOfTwo(scale)
                                                                     : static_cast<float>(scale));
}

float scaleOfWeights(std::span<const float> weights, ScaleKind kind) {
  double largest = 0;
  for (float weight : weights)
    largest = std::max(largest, std::fabs(static_cast<double>(weight)));
  if (largest == 0)
    return 0;
  return bestScale(largest, kind, [&](float scale) {
    double sum = 0;
    for (float weight : weights) {
      float rounded = std::nearbyint(weight / scale);
      rounded = std::clamp<float>(rounded, -kMaxInteger, kMaxInteger) * scale;
      sum += square(static_cast<double>(weight) - rounded);
    }
    return sum;
  });
}

int32_t quantized(float number, float scale, int32_t most) {
  double rounded = std::nearbyint(number / scale);
  return static_cast<int32_t>(std::clamp<double>(rounded, -most, most));
}

} // namespace headrace::quantize
