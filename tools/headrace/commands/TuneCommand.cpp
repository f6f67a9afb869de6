// headrace tune: measures schedules of a model's kernels, and keeps the fastest for later
// compilations.
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "report/Text.h"
#include "report/TuneReport.h"
#include "terminal/Console.h"
#include "tune/Tuner.h"
#include "tune/learn/JudgeModel.h"
#include "tune/store/TunedStore.h"
#include <CLI/Option.hpp>
#include <charconv>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

struct TuneCommandOptions {
  ModelOptions model;
  std::vector<std::string> sizes;
  std::string budget;
  std::string log;
  std::string exported, imported, predicted;
  bool json = false;
  tune::TuneOptions tuning;
};

/// "90", "90s", "10m" or "1h" in seconds.
double parseDuration(const std::string &text) {
  double value = 0;
  auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view unit(rest, static_cast<size_t>(text.data() + text.size() - rest));
  double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
  if (fault != std::errc() || seconds == 0 || !(value > 0))
    throw UsageError("--budget: expected a duration such as 90s, 10m or 1h, got '" + text + "'");
  return value * seconds;
}

/// The file that results go into and come from.
std::filesystem::path storeOf(const Settings &settings) {
  if (settings.tuning == "never")
    return {};
  return settings.tuning == "auto" ? tune::TunedStore::userFile()
                                   : std::filesystem::path(settings.tuning);
}

std::filesystem::path requiredStore(const Settings &settings) {
  std::filesystem::path store = storeOf(settings);
  if (store.empty())
    throw Error(ErrorKind::InvalidArgument,
                "there is no store of results: expected a cache (HEADRACE_CACHE_DIR), or --tuning");
  return store;
}

int exportResults(const TuneCommandOptions &options) {
  tune::TunedStore store(requiredStore(options.model.settings));
  std::string text;
  std::vector<tune::TunedRecord> records = store.all();
  for (const tune::TunedRecord &record : records)
    text += toJson(record).dump() + "\n";
  writeFileAtomically(options.exported, {std::as_bytes(std::span(text))});
  fmt::print("wrote {} results to {}\n", records.size(), options.exported);
  return 0;
}

/// Takes results out of a log, or out of a file that --export wrote.
int importResults(const TuneCommandOptions &options) {
  std::filesystem::path store = requiredStore(options.model.settings), file = options.imported;
  tune::ReadLog log = tune::readLog(file);
  std::vector<tune::TunedRecord> records = tune::bestOf(log.trials);
  std::vector<std::string> faults = log.faults;
  if (log.trials.empty()) {
    faults.clear();
    tune::TunedStore given(file);
    records = given.all();
    faults = given.faults();
  }
  changeStore(store, records);
  for (const std::string &fault : faults)
    fmt::print("left out: {}\n", printable(fault));
  fmt::print("{} results are in {}\n", records.size(), printable(store.string()));
  return 0;
}

int judgeLog(const TuneCommandOptions &options) {
  tune::ReadLog log = tune::readLog(options.predicted);
  for (const std::string &fault : log.faults)
    fmt::print("left out: {}\n", printable(fault));
  printJudgements(judged(log.trials, options.tuning.seed), options.json);
  if (!tune::RankModel::isAvailable())
    fmt::print(stderr, "headrace: {}\n", tune::Booster::unsupportedReason());
  return 0;
}

int tuneModel(TuneCommandOptions &options) {
  if (!options.exported.empty())
    return exportResults(options);
  if (!options.imported.empty())
    return importResults(options);
  if (!options.predicted.empty())
    return judgeLog(options);
  tune::TuneOptions tuning = options.tuning;
  if (!options.budget.empty())
    tuning.seconds = parseDuration(options.budget);
  std::shared_ptr<Model> model = loadModel(options.model);
  Sizes sizes = parseSizes(options.sizes, model->symbols());
  for (size_t i = 0; i < sizes.size(); ++i)
    if (!sizes[i])
      throw UsageError(fmt::format("expected a value of the dynamic dimension '{0}': --size {0}=N",
                                   model->symbols()[i]));
  tuning.log = options.log.empty()
                   ? std::filesystem::path(options.model.path).filename().string() + ".tuning.jsonl"
                   : options.log;
  tuning.store = storeOf(options.model.settings);
  if (tuning.strategy == tune::Strategy::Learned && !tune::RankModel::isAvailable())
    fmt::print(stderr, "headrace: {}; candidates are ordered by the analytic cost alone\n",
               tune::Booster::unsupportedReason());
  Settings settings = options.model.settings;
  if (!options.model.recipe.empty())
    settings.recipe = readText(options.model.recipe);
  tune::TuneReport report =
      tune::tuneModel(*model, settings, sizes, tuning, [](const tune::TuneProgress &now) {
        showStatus(fmt::format(
            "trial {} of {}, {:.3f}x so far, {} left: {}", now.trial, now.trials,
            now.bestMicroseconds > 0 ? now.defaultMicroseconds / now.bestMicroseconds : 1.0,
            durationText(now.secondsLeft), printable(now.kernel)));
      });
  clearStatus();
  printTuning(report, tuning, options.json);
  return 0;
}

} // namespace

void addTuneCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<TuneCommandOptions>();
  CLI::App *command = app.add_subcommand(
      "tune", "Measure schedules of a model's kernels and keep the fastest for compilations");
  addModelOptions(*command, options->model);
  // The log of a tuning run is another one than that of compilations.
  command->remove_option(command->get_option("--log"));
  addThreadsOption(*command, options->model);
  addSizeOption(*command, options->sizes);
  command->add_option("--trials", options->tuning.trials, "Schedules to try for each kernel")
      ->type_name("N")
      ->check(inRange<size_t>(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--budget", options->budget,
                   "Time after which no trial is begun, as in 90s, 10m or 1h")
      ->type_name("TIME");
  command
      ->add_option("--log", options->log,
                   "The file that each trial is added to [MODEL.tuning.jsonl here]; a chart is\n"
                   "written next to it")
      ->type_name("FILE");
  command->add_flag("--resume", options->tuning.resume, "Go on where the run of this log ended");
  command
      ->add_option("--learn-from", options->tuning.experience,
                   "Begin with a model of the trials in this log of other kernels (repeatable)")
      ->type_name("LOG")
      ->allow_extra_args(false);
  command->add_option("--seed", options->tuning.seed, "Of the search")->type_name("N");
  command
      ->add_option("--strategy", options->tuning.strategy,
                   "How schedules are found: learned, evolution or random; the last two are for\n"
                   "comparison")
      ->type_name("NAME")
      ->transform(oneOf<tune::Strategy>({{"learned", tune::Strategy::Learned},
                                         {"evolution", tune::Strategy::Evolution},
                                         {"random", tune::Strategy::Random}}));
  command
      ->add_option("--features", options->tuning.features,
                   "What is learned from: configuration, loops, steps or all [all]")
      ->type_name("NAME")
      ->transform(oneOf<tune::FeatureSet>({{"configuration", tune::FeatureSet::Configuration},
                                           {"loops", tune::FeatureSet::Loops},
                                           {"steps", tune::FeatureSet::Steps},
                                           {"all", tune::FeatureSet::All}}));
  command
      ->add_option("--seconds", options->tuning.measuring.seconds,
                   "Time for measuring one schedule in turns with the compiler's")
      ->type_name("SECONDS")
      ->check(inRange(0.0))
      ->capture_default_str();
  command
      ->add_option("--limit", options->tuning.measuring.limit,
                   "Seconds after which a trial counts as failed")
      ->type_name("SECONDS")
      ->check(aboveZero())
      ->capture_default_str();
  command->add_option("--export", options->exported, "Write the stored results into this file")
      ->type_name("FILE");
  command
      ->add_option("--import", options->imported,
                   "Add the results in this log, or in a file of --export, to the stored ones")
      ->type_name("FILE");
  command
      ->add_option("--predict", options->predicted,
                   "Print how well models order the trials of kernels in this log that they\n"
                   "have not seen")
      ->type_name("LOG");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n"
                  "  headrace tune model.onnx --trials 64 --budget 10m\n"
                  "  headrace tune model.onnx --size batch=8 --resume\n"
                  "  headrace tune --predict model.onnx.tuning.jsonl");
  command->callback([options, &action] { action = [options] { return tuneModel(*options); }; });
}

} // namespace headrace::cli
