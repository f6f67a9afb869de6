#include "report/BenchReport.h"

#include "report/Table.h"
#include "report/Text.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <map>
#include <nlohmann/json.hpp>

namespace headrace::cli {

using json = nlohmann::ordered_json;

namespace {

// Per microsecond, in thousands a second: bytes become GB/s, operations GOP/s.
double gigaRate(int64_t amount, double microseconds) {
  return microseconds > 0 ? static_cast<double>(amount) / microseconds / 1e3 : 0;
}

void printSystems(const BenchResult &result) {
  using Align = Table::Align;
  std::vector<Table::Column> columns = {
      {"system", Align::Left}, {"median"}, {"p95"}, {"min"}, {"calls/s"}, {"calls"},
      {"first answer"}};
  if (result.systems.size() > 1)
    columns.push_back({"largest difference"});
  Table table(columns);
  for (const SystemResult &system : result.systems)
    table.add({system.name + " " + system.version, duration(system.times.median),
               duration(system.times.p95), duration(system.times.min),
               withPrefix(1e6 / system.times.median, ""), std::to_string(system.times.calls),
               duration(system.firstAnswer()),
               system.maxAbsoluteError ? fmt::format("{:.2g}", *system.maxAbsoluteError) : ""});
  table.print(stdout);
}

// The time of each engine if there are several, and what the host's leaves to gain: however fast
// the others become, a call takes that long (Amdahl's law).
void printEngines(const BenchResult &result) {
  std::map<std::string, double> times;
  double total = 0;
  for (const KernelTiming &kernel : result.kernels) {
    times[kernel.where] += kernel.microseconds;
    total += kernel.microseconds;
  }
  if (times.size() < 2)
    return;
  Table table({{"engine", Table::Align::Left}, {"time"}, {"share"}});
  for (const auto &[engine, time] : times)
    table.add({engine, duration(time), fmt::format("{:.1f}%", 100 * time / total)});
  fmt::print("\n");
  table.print(stdout);
  if (double host = times[hostEngine]; host > 0)
    fmt::print("however fast the others become, a call can become {:.1f} times as fast at most\n",
               total / host);
}

// "5.1 us beyond the prediction, 2.3 us data that is read again": the parts that matter.
std::string lossText(const KernelTiming &kernel) {
  constexpr double worthNaming = 0.15;
  std::string text;
  for (const auto &[cause, microseconds] : kernel.losses())
    if (microseconds >= worthNaming * kernel.lost().value_or(0))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", duration(microseconds), cause);
  return text;
}

// What to do next: where most time could be won.
void printLosses(const std::vector<KernelTiming> &kernels) {
  constexpr size_t shown = 5;
  std::vector<const KernelTiming *> most = mostLost(kernels, shown);
  if (most.empty())
    return;
  using Align = Table::Align;
  Table table({{"furthest from the least time", Align::Left},
               {"time"},
               {"least"},
               {"lost"},
               {"to", Align::Left}});
  for (const KernelTiming *kernel : most)
    table.add({kernel->name, duration(kernel->microseconds),
               duration(kernel->predicted->leastMicroseconds), duration(*kernel->lost()),
               lossText(*kernel)});
  fmt::print("\n");
  table.print(stdout);
}

void printKernels(const BenchResult &result) {
  double total = 0;
  for (const KernelTiming &kernel : result.kernels)
    total += kernel.microseconds;
  using Align = Table::Align;
  Table table({{"kernel", Align::Left},
               {"time"},
               {"predicted"},
               {"share"},
               {"bytes"},
               {"operations"},
               {"GB/s"},
               {"GOP/s"},
               {"operators", Align::Left}});
  for (const KernelTiming &kernel : result.kernels)
    table.add({kernel.name, duration(kernel.microseconds),
               kernel.predicted ? duration(kernel.predicted->microseconds) : "",
               fmt::format("{:.1f}%", total > 0 ? 100 * kernel.microseconds / total : 0),
               withPrefix(static_cast<double>(kernel.bytes), "B"),
               withPrefix(static_cast<double>(kernel.operations), ""),
               fmt::format("{:.1f}", gigaRate(kernel.bytes, kernel.microseconds)),
               fmt::format("{:.1f}", gigaRate(kernel.operations, kernel.microseconds)),
               kernel.notes.empty() ? shortList(kernel.operators)
                                    : shortList(kernel.operators) + " (" + kernel.notes + ")"});
  fmt::print("\n");
  table.print(stdout);
  printEngines(result);
  if (std::optional<double> error = medianError(result.kernels))
    fmt::print("\npredictions are off by {:.0f}% in the median\n", 100 * *error);
  printLosses(result.kernels);
}

} // namespace

std::optional<double> KernelTiming::lost() const {
  if (!predicted)
    return std::nullopt;
  return std::max(0.0, microseconds - predicted->leastMicroseconds);
}

std::vector<std::pair<std::string, double>> KernelTiming::losses() const {
  if (!predicted)
    return {};
  // A kernel that is faster than predicted lost less of what was predicted to be lost.
  double expected = predicted->microseconds - predicted->leastMicroseconds;
  double share = expected > 0 ? std::min(1.0, *lost() / expected) : 0;
  std::vector<std::pair<std::string, double>> parts;
  for (const auto &[cause, time] : predicted->losses)
    parts.emplace_back(cause, time * share);
  if (double rest = *lost() - expected * share; rest > 0)
    parts.emplace_back("beyond the prediction", rest);
  std::ranges::stable_sort(parts, std::ranges::greater(), &std::pair<std::string, double>::second);
  return parts;
}

std::vector<const KernelTiming *> mostLost(const std::vector<KernelTiming> &kernels, size_t count) {
  std::vector<const KernelTiming *> result;
  for (const KernelTiming &kernel : kernels)
    if (kernel.lost().value_or(0) > 0)
      result.push_back(&kernel);
  std::ranges::stable_sort(result, std::ranges::greater(),
                           [](const KernelTiming *kernel) { return *kernel->lost(); });
  result.resize(std::min(result.size(), count));
  return result;
}

std::optional<double> medianError(const std::vector<KernelTiming> &kernels) {
  std::vector<double> errors;
  for (const KernelTiming &kernel : kernels)
    if (kernel.predicted && kernel.microseconds >= 1)
      errors.push_back(std::fabs(kernel.predicted->microseconds - kernel.microseconds) /
                       kernel.microseconds);
  if (errors.empty())
    return std::nullopt;
  return summarize(std::move(errors)).median;
}

void printTables(const BenchResult &result) {
  std::vector<std::string> inputs;
  inputs.reserve(result.inputs.size());
  for (const auto &[name, value] : result.inputs)
    inputs.push_back(printable(name) + " " +
                     (value.tensor() ? typeText(*value.tensor()) : describe(value)));
  fmt::print("{} on {}; threads: {}; rounds: {} of {:.3g} s\n\n", result.model,
             inputs.empty() ? "no inputs" : fmt::format("{}", fmt::join(inputs, ", ")),
             result.threads, result.rounds, result.seconds / result.rounds);
  printSystems(result);
  for (const MissingSystem &missing : result.missing)
    fmt::print("{}: left out: {}\n", missing.name, printable(missing.reason));

  auto isPeer = [](const SystemResult &system) { return !system.name.starts_with("headrace"); };
  if (std::ranges::any_of(result.systems, isPeer))
    fmt::print("baselines are called from Python, which adds a few microseconds per call\n");

  const SystemResult &ours = result.systems.front();
  fmt::print("\nfirst answer: load {}, compile {}, run {}\n", duration(ours.load),
             duration(ours.compile), duration(ours.firstRun));
  fmt::print("a call: {} moved ({:.1f} GB/s), {} ({:.1f} GOP/s)\n",
             withPrefix(static_cast<double>(result.bytesMoved), "B"),
             gigaRate(result.bytesMoved, ours.times.median),
             withPrefix(static_cast<double>(result.operations), "OP"),
             gigaRate(result.operations, ours.times.median));
  if (!result.kernels.empty())
    printKernels(result);
}

void printJson(const BenchResult &result) {
  json inputs = json::array(), systems = json::array(), missing = json::array();
  for (const auto &[name, value] : result.inputs)
    if (const Tensor *tensor = value.tensor())
      inputs.push_back(
          {{"name", name}, {"dtype", nameOf(tensor->dtype())}, {"shape", tensor->shape()}});
    else
      inputs.push_back({{"name", name}, {"value", describe(value)}});
  for (const SystemResult &system : result.systems) {
    systems.push_back({{"name", system.name},
                       {"version", system.version},
                       {"median_us", system.times.median},
                       {"p95_us", system.times.p95},
                       {"min_us", system.times.min},
                       {"calls", system.times.calls},
                       {"calls_per_second", 1e6 / system.times.median},
                       {"load_us", system.load},
                       {"compile_us", system.compile},
                       {"first_run_us", system.firstRun},
                       {"first_answer_us", system.firstAnswer()}});
    if (system.maxAbsoluteError)
      systems.back()["max_abs_error"] = *system.maxAbsoluteError;
  }
  for (const MissingSystem &system : result.missing)
    missing.push_back({{"name", system.name}, {"reason", system.reason}});
  double median = result.systems.front().times.median;
  json document = {{"model", result.model},
                   {"inputs", inputs},
                   {"threads", result.threads},
                   {"rounds", result.rounds},
                   {"seconds", result.seconds},
                   {"bytes_moved", result.bytesMoved},
                   {"operations", result.operations},
                   {"gb_per_second", gigaRate(result.bytesMoved, median)},
                   {"gop_per_second", gigaRate(result.operations, median)},
                   {"systems", systems},
                   {"missing", missing}};
  if (!result.kernels.empty()) {
    json kernels = json::array();
    for (const KernelTiming &kernel : result.kernels)
      kernels.push_back(
          {{"name", kernel.name},
           {"operators", kernel.operators},
           {"routine", kernel.routine},
           {"notes", kernel.notes},
           {"where", kernel.where},
           {"time_us", kernel.microseconds},
           {"predicted_us", kernel.predicted ? json(kernel.predicted->microseconds) : json()},
           {"least_us", kernel.predicted ? json(kernel.predicted->leastMicroseconds) : json()},
           {"losses", kernel.losses()},
           {"bytes", kernel.bytes},
           {"operations", kernel.operations},
           {"gb_per_second", gigaRate(kernel.bytes, kernel.microseconds)},
           {"gop_per_second", gigaRate(kernel.operations, kernel.microseconds)}});
    document["kernels"] = kernels;
    std::optional<double> error = medianError(result.kernels);
    document["median_error"] = error ? json(*error) : json();
  }
  fmt::print("{}\n", jsonText(document));
}

} // namespace headrace::cli
