#include "tune/task/Features.h"

#include <cmath>

namespace headrace::tune {

namespace {

constexpr size_t kPlaces = 64, kPairs = 64;

uint64_t hashOf(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (unsigned char letter : text)
    hash = (hash ^ letter) * 1099511628211u;
  return hash;
}

/// A doubling is a step of one; the float has few digits, so that logs of it stay short.
float logOf(double value) {
  return static_cast<float>(std::round(std::log2(1 + std::fabs(value)) * 1000) / 1000);
}

float rounded(double value) { return static_cast<float>(std::round(value * 10000) / 10000); }

std::vector<float> configurationOf(const Candidate &candidate) {
  std::vector<float> features(kPlaces + 8);
  for (size_t stage = 0; stage < candidate.schedules.size(); ++stage) {
    const ScheduleRecord &schedule = candidate.schedules[stage];
    features[kPlaces + hashOf(schedule.kind) % 8] += 1;
    for (const auto &[name, value] : schedule.parameters)
      features[hashOf(schedule.kind + "." + name) % kPlaces] += logOf(static_cast<double>(value));
  }
  return features;
}

/// Bytes that move, by the data among which they are found, and how often each is read.
std::vector<float> loopsOf(const Work &work, const Estimate &estimate) {
  constexpr std::array<double, 5> sets = {32 << 10, 256 << 10, 1 << 20, 8 << 20, 64 << 20};
  std::array<double, sets.size() + 1> bytes{};
  double first = 0, again = 0, largest = 0;
  for (const Work::Stream &stream : work.streams) {
    size_t level = 0;
    while (level < sets.size() && stream.workingSet > sets[level])
      ++level;
    bytes[level] += stream.bytes;
    (stream.operand >= 0 ? first : again) += stream.bytes;
    largest = std::max(largest, stream.workingSet);
  }
  std::vector<float> features;
  for (double each : bytes)
    features.push_back(logOf(each));
  double operations = 0, efficient = 0;
  std::array<double, operationKinds> kinds{};
  for (const Work::Arithmetic &arithmetic : work.arithmetic) {
    kinds[static_cast<size_t>(arithmetic.kind)] += arithmetic.operations;
    operations += arithmetic.operations;
    efficient += arithmetic.operations * arithmetic.efficiency;
  }
  for (double each : kinds)
    features.push_back(logOf(each));
  double moved = first + again;
  for (double each : {first, again, largest, work.parts, operations / std::max(moved, 1.0),
                      operations / std::max(work.parts, 1.0), moved / std::max(work.parts, 1.0)})
    features.push_back(logOf(each));
  features.push_back(rounded(operations > 0 ? efficient / operations : 0));
  // The analytic cost is a feature, too.
  features.push_back(logOf(estimate.microseconds * 1000));
  for (double share : {estimate.memory, estimate.cache, estimate.arithmetic, estimate.calls})
    features.push_back(rounded(share));
  return features;
}

/// A schedule read as a sentence: each parameter with the one before it.
std::vector<float> stepsOf(const Candidate &candidate) {
  std::vector<float> features(2 * kPairs);
  for (const ScheduleRecord &schedule : candidate.schedules) {
    std::string before = schedule.kind;
    double valueBefore = 1;
    for (const auto &[name, value] : schedule.parameters) {
      auto own = static_cast<double>(value);
      size_t place = hashOf(before + ">" + name) % kPairs;
      features[place] += logOf(own);
      features[kPairs + place] += logOf(own * valueBefore);
      before = name;
      valueBefore = 1 + own;
    }
  }
  return features;
}

} // namespace

std::string_view nameOf(FeatureSet set) {
  switch (set) {
  case FeatureSet::Configuration:
    return "configuration";
  case FeatureSet::Loops:
    return "loops";
  case FeatureSet::Steps:
    return "steps";
  case FeatureSet::All:
    break;
  }
  return "all";
}

std::vector<float> Features::of(FeatureSet set) const {
  std::vector<float> result;
  auto add = [&](FeatureSet own, const std::vector<float> &features) {
    if (set == own || set == FeatureSet::All)
      result.insert(result.end(), features.begin(), features.end());
  };
  add(FeatureSet::Configuration, configuration);
  add(FeatureSet::Loops, loops);
  add(FeatureSet::Steps, steps);
  return result;
}

Features featuresOf(const Candidate &candidate, const Work &work, const Estimate &estimate) {
  return {configurationOf(candidate), loopsOf(work, estimate), stepsOf(candidate)};
}

} // namespace headrace::tune
