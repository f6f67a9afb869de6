#include "optimize/Measure.h"

#include "driver/Model.h"
#include "runtime/system/FileCache.h"
#include "verify/Verify.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

namespace headrace::optimize {

struct CompiledRecipes::Program {
  std::unique_ptr<Model> model;
  std::vector<RuntimeValue> inputs;
};

CompiledRecipes::CompiledRecipes() = default;
CompiledRecipes::~CompiledRecipes() = default;

void CompiledRecipes::add(std::vector<CheckedProgram> programs, const Settings &settings) {
  std::vector<Program> &all = recipes.emplace_back();
  for (CheckedProgram &each : programs) {
    Settings own = settings;
    own.recipe = each.recipe;
    own.specialize = "never";
    Program &program = all.emplace_back();
    program.model = std::make_unique<Model>(std::move(each.program), own);
    program.model->useThreads(1);
    verify::Options options;
    options.settings = own;
    program.inputs = verify::makeCases(*program.model, options).front().inputs;
    (void)program.model->runValues(program.inputs); // compiles
  }
}

std::vector<double> CompiledRecipes::microseconds(double seconds, int rounds) {
  using Clock = std::chrono::steady_clock;
  auto timeOf = [](std::vector<Program> &programs) {
    auto start = Clock::now();
    for (Program &program : programs)
      (void)program.model->runValues(program.inputs);
    return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
  };
  double turn = seconds * 1e6 / static_cast<double>(recipes.size()) / rounds;
  std::vector<std::vector<double>> medians(recipes.size());
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < recipes.size(); ++i) {
      std::vector<double> times;
      (void)timeOf(recipes[i]); // brings caches back
      double spent = 0;
      do {
        times.push_back(timeOf(recipes[i]));
        spent += times.back();
      } while (spent < turn);
      std::ranges::nth_element(times, times.begin() + static_cast<long>(times.size() / 2));
      medians[i].push_back(times[times.size() / 2]);
    }
  std::vector<double> result;
  for (std::vector<double> &each : medians) {
    std::ranges::sort(each);
    result.push_back(each[each.size() / 2]);
  }
  return result;
}

double MeasuredChange::factor() const {
  double predicted = predictedBefore - predictedAfter, measured = measuredBefore - measuredAfter;
  if (predicted * measured <= 0)
    return std::numeric_limits<double>::infinity();
  double ratio = std::abs(predicted / measured);
  return std::max(ratio, 1 / ratio);
}

bool MeasuredChange::isClear() const {
  return std::abs(measuredBefore - measuredAfter) > 0.05 * measuredBefore;
}

std::filesystem::path changeLog() {
  std::optional<std::filesystem::path> folder = userCacheFolder();
  return folder ? *folder / "measured-steps.jsonl" : std::filesystem::path();
}

void logChange(const MeasuredChange &change) {
  std::filesystem::path path = changeLog();
  if (path.empty())
    return;
  nlohmann::ordered_json line = {{"model", change.model},
                                 {"step", change.step},
                                 {"predicted_us", {change.predictedBefore, change.predictedAfter}},
                                 {"measured_us", {change.measuredBefore, change.measuredAfter}}};
  using nlohmann::ordered_json;
  std::ofstream(path, std::ios::app)
      << line.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace headrace::optimize
