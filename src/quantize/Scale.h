// Scales of int8 numbers, `float = integer * scale`, from the numbers that they have to hold.
// Ranges are symmetric: zero points are 0, and weights use -127 to 127.
#pragma once

#include "quantize/Options.h"
#include <cstdint>
#include <span>
#include <vector>

namespace headrace::quantize {

inline constexpr int kMaxInteger = 127;

/// How often magnitudes occur, in bins of equal width from 0 to the largest.
class Histogram {
public:
  /// A histogram of numbers whose magnitude is at most `largest`.
  explicit Histogram(double largest) : greatest(largest), counts(kBins, 0) {}

  void add(std::span<const float> numbers);
  double largest() const { return greatest; }
  /// The magnitude that this many per cent of the numbers do not exceed.
  double percentile(double percent) const;
  /// The sum of squared errors if the numbers are rounded to multiples of the scale, and
  /// clipped.
  double squaredError(double scale) const;

private:
  static constexpr size_t kBins = 4096;
  double middleOf(size_t bin) const;

  double greatest;
  std::vector<uint64_t> counts;
};

/// The scale of activations; 1 if all of them are 0.
float scaleOf(const Histogram &histogram, const Options &options);

/// The scale of weights: where the squared error is least. 0 if all of them are 0.
float scaleOfWeights(std::span<const float> weights, ScaleKind kind);

/// The smallest power of two that is not less.
float powerOfTwo(double scale);

/// The integer that stands for a number: rounded, ties to even, and clipped to plus and minus
/// `most`.
int32_t quantized(float number, float scale, int32_t most = kMaxInteger);

} // namespace headrace::quantize
