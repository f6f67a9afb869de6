// Results of a benchmark, as a table or as JSON.
#pragma once

#include "driver/Model.h"

#include "peer/Timing.h"
#include <optional>
#include <string>
#include <vector>

namespace headrace::cli {

/// One system's times, in microseconds.
struct SystemResult {
  std::string name, version;
  TimeSummary times;
  double load = 0, compile = 0, firstRun = 0;
  /// The largest difference of its answer from ours; nothing for ourselves.
  std::optional<double> maxAbsoluteError;

  double firstAnswer() const { return load + compile + firstRun; }
};

struct MissingSystem {
  std::string name, reason;
};

/// One kernel's time, and what it moves and computes for these inputs.
struct KernelTiming {
  std::string name;
  std::vector<std::string> operators;
  std::string routine; // of a library; empty for generated code
  std::string notes;   // of the device
  std::string where;   // the engine that runs it
  double microseconds = 0;
  /// The cost model's prediction; nothing for a package.
  std::optional<KernelPrediction> predicted;
  int64_t bytes = 0, operations = 0;

  /// Microseconds more than any schedule has to take; nothing without a prediction.
  std::optional<double> lost() const;
  /// What they go into, the largest part first: what the cost model knows of, and the rest.
  std::vector<std::pair<std::string, double>> losses() const;
};

struct BenchResult {
  std::string model;
  std::vector<std::pair<std::string, RuntimeValue>> inputs; // by name
  int threads = 1, rounds = 1;
  double seconds = 0;
  int64_t bytesMoved = 0, operations = 0;
  /// Headrace first.
  std::vector<SystemResult> systems;
  std::vector<MissingSystem> missing;
  std::vector<KernelTiming> kernels;
};

/// The median relative error of predictions; nothing without predictions. Kernels of less than a
/// microsecond, for which the clock dominates, do not count.
std::optional<double> medianError(const std::vector<KernelTiming> &kernels);

/// The kernels that lose most, the first one most of all; at most `count` of them.
std::vector<const KernelTiming *> mostLost(const std::vector<KernelTiming> &kernels, size_t count);

void printTables(const BenchResult &result);
void printJson(const BenchResult &result);

} // namespace headrace::cli
