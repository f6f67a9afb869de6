#include "quantize/Noise.h"

#include <cmath>
#include <limits>

namespace headrace::quantize {

namespace {
struct Sums {
  double signal = 0, noise = 0;
};
} // namespace

static double decibels(const Sums &sums) {
  if (sums.noise == 0)
    return sums.signal == 0 ? std::numeric_limits<double>::quiet_NaN()
                            : std::numeric_limits<double>::infinity();
  return 10 * std::log10(sums.signal / sums.noise);
}

std::map<std::string, double> signalToNoise(Probe &exact, Probe &quantized,
                                            const std::map<std::string, std::string> &names,
                                            const Samples &samples) {
  std::map<std::string, Sums> sums;
  for (size_t run = 0; run < samples.runs(); ++run) {
    std::vector<Tensor> inputs = samples.run(run);
    Probe::Observed before = exact.run(inputs), after = quantized.run(inputs);
    for (const auto &[value, other] : names) {
      // If sizes depend on data there may be nothing to compare.
      if (before.at(value).shape() != after.at(other).shape())
        continue;
      Tensor a = before.at(value).converted(DType::F32), b = after.at(other).converted(DType::F32);
      Sums &sum = sums[value];
      const float *exactNumbers = a.as<float>(), *otherNumbers = b.as<float>();
      for (int64_t i = 0; i < a.elements(); ++i) {
        double number = exactNumbers[i], error = number - otherNumbers[i];
        sum.signal += number * number;
        sum.noise += error * error;
      }
    }
  }
  std::map<std::string, double> result;
  for (const auto &[value, sum] : sums)
    result[value] = decibels(sum);
  return result;
}

} // namespace headrace::quantize
