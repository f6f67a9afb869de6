#include "quantize/Ranges.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

#include "quantize/Scale.h"
#include <cmath>

namespace headrace::quantize {

namespace {

using Visit = std::function<void(size_t group, const std::string &value, std::span<const float>)>;

} // namespace

static std::span<const float> numbersOf(const Tensor &tensor) {
  return {tensor.as<float>(), static_cast<size_t>(tensor.elements())};
}

/// Calls `visit` for the numbers that decide on scales: constants once, all others run by run.
static void forEachSource(const QuantizationPlan &plan, const onnx::GraphView &view, Probe &probe,
                          const Samples &samples, const Visit &visit) {
  for (size_t group = 0; group < plan.groups.size(); ++group)
    for (const std::string &value : plan.groups[group].sources)
      if (const Tensor *constant = view.constant(value))
        visit(group, value, numbersOf(*constant));
  for (size_t run = 0; run < samples.runs(); ++run) {
    Probe::Observed observed = probe.run(samples.run(run));
    for (size_t group = 0; group < plan.groups.size(); ++group)
      for (const std::string &value : plan.groups[group].sources)
        if (auto found = observed.find(value); found != observed.end())
          visit(group, value, numbersOf(found->second));
  }
}

static void widen(ActivationScale &range, const std::string &value,
                  std::span<const float> numbers) {
  for (float number : numbers) {
    if (!std::isfinite(number))
      throw Error(ErrorKind::InvalidArgument,
                  "value " + inQuotes(value) +
                      ": expected finite values for the calibration data, got " +
                      std::to_string(number));
    range.least = std::min<double>(range.least, number);
    range.greatest = std::max<double>(range.greatest, number);
  }
}

std::vector<ActivationScale> calibrate(const QuantizationPlan &plan, const onnx::GraphView &view,
                                       Probe &probe, const Samples &samples,
                                       const Options &options) {
  std::vector<ActivationScale> scales(plan.groups.size());
  forEachSource(plan, view, probe, samples,
                [&](size_t group, const std::string &value, std::span<const float> numbers) {
                  widen(scales[group], value, numbers);
                });
  std::vector<Histogram> histograms;
  histograms.reserve(scales.size());
  for (const ActivationScale &range : scales)
    histograms.emplace_back(std::max(-range.least, range.greatest));
  if (options.ranges != RangeMethod::MinMax)
    forEachSource(plan, view, probe, samples,
                  [&](size_t group, const std::string &, std::span<const float> numbers) {
                    histograms[group].add(numbers);
                  });
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i].scale = scaleOf(histograms[i], options);
  return scales;
}

} // namespace headrace::quantize
