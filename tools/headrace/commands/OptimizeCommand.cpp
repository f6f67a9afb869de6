// headrace optimize: what could be done to a program and what it would gain, done and undone.
// headrace blame: which lines of a recipe a difference in time comes from.
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "optimize/Blame.h"
#include "optimize/Measure.h"
#include "optimize/Optimizer.h"
#include "optimize/ReportJson.h"
#include "optimize/SavedSteps.h"
#include "optimize/Search.h"
#include "report/OptimizeReport.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

namespace {

using json = nlohmann::ordered_json;
using optimize::MeasuredChange;
using optimize::Optimizer;
using optimize::Transformation;

/// The program that is optimized.
struct ProgramOptions {
  ModelOptions model;
  std::vector<std::string> sizes;
  bool gradient = false;
  bool weights = false;
  GradientOptions gradients;
  bool json = false;
};

struct OptimizeOptions : ProgramOptions {
  std::string start = "auto";
  bool list = false;
  std::string only; // a verb; empty: all
  size_t most = 40;
  std::vector<std::string> steps, predicted;
  std::string replayed;
  bool greedy = false;
  size_t searched = 0;
  optimize::SearchLimits limits;
  int undone = 0;
  bool measure = false;
  double seconds = 2;
  std::string saved;
  std::string compared;
};

struct BlameOptions : ProgramOptions {
  std::string first, second;
  bool measure = false;
  double seconds = 5;
};

Optimizer begin(const ProgramOptions &options, const std::string &recipe) {
  std::shared_ptr<Model> model = loadModel(options.model);
  Sizes sizes = parseSizes(options.sizes, model->symbols());
  Settings settings = options.model.settings;
  settings.recipe = recipe;
  Progress progress("compiling " + model->name());
  if (!options.gradient)
    return {model, settings, sizes};
  GradientOptions gradients = options.gradients;
  if (options.weights)
    for (const TensorSpec &weight : model->weights())
      gradients.wrt.push_back(weight.name);
  return {model, settings, sizes, gradients};
}

std::string nameOf(const ProgramOptions &options) {
  return std::filesystem::path(options.model.path).filename().string();
}

class Guided {
public:
  explicit Guided(const OptimizeOptions &options)
      : options(options),
        optimizer(
            begin(options, options.model.recipe.empty() ? "" : readText(options.model.recipe))) {}

  int run() {
    if (options.start == "unfused")
      optimizer.beginUnfused();
    if (!options.replayed.empty())
      replay();
    for (const std::string &step : options.steps)
      apply(step);
    search();
    for (int i = 0; i < options.undone; ++i)
      if (!optimizer.undo())
        throw Error(ErrorKind::InvalidArgument,
                    fmt::format("--undo: expected at most {} steps, got {}", i, options.undone));
    if (options.measure)
      measure();
    if (!options.saved.empty())
      save();
    report();
    return 0;
  }

private:
  void apply(const std::string &step) {
    Progress progress("applying " + step);
    (void)optimizer.apply(step);
  }

  void replay() {
    std::vector<optimize::RefusedStep> refused;
    {
      Progress progress("doing the steps of " + options.replayed);
      refused = replaySteps(optimizer, readText(options.replayed));
    }
    for (const optimize::RefusedStep &each : refused)
      fmt::print(stderr, "not possible: {}: {}\n", printable(each.step), printable(each.reason));
  }

  void search() {
    auto show = [](size_t steps, double microseconds) {
      showStatus(fmt::format("{} steps, {} at best", steps, duration(microseconds)));
    };
    optimize::SearchLimits limits = options.limits;
    if (options.greedy)
      optimizeGreedily(optimizer, limits, show);
    limits.steps = options.searched;
    if (options.searched > 0)
      searchSteps(optimizer, limits, show);
    clearStatus();
  }

  /// Times every state from the start to the program's, in turns.
  void measure() {
    Progress progress("measuring");
    std::vector<std::string> recipes;
    for (size_t i = 0; i <= optimizer.position(); ++i)
      recipes.push_back(optimizer.states()[i].recipe);
    times = optimizer.compiled(recipes)->microseconds(options.seconds *
                                                      static_cast<double>(recipes.size()));
    for (size_t i = 1; i < recipes.size(); ++i) {
      const optimize::State &before = optimizer.states()[i - 1], &after = optimizer.states()[i];
      changes.push_back({nameOf(options), after.step, before.figures.microseconds,
                         after.figures.microseconds, times[i - 1], times[i]});
      optimize::logChange(changes.back());
    }
  }

  void save() const {
    std::string text = savedRecipe(optimizer, printable(nameOf(options)));
    writeFileAtomically(options.saved, {std::as_bytes(std::span(text))});
  }

  std::vector<Transformation> listed() {
    auto show = [](size_t done, size_t count) {
      showStatus(fmt::format("predicting step {} of {}", done + 1, count));
    };
    std::vector<Transformation> all = optimizer.list(show, options.only);
    clearStatus();
    return all;
  }

  std::vector<Transformation> predicted() {
    std::vector<Transformation> all;
    for (const std::string &step : options.predicted)
      all.push_back(optimizer.predict(step));
    return all;
  }

  void report() {
    std::string difference;
    if (!options.compared.empty())
      difference = optimize::differenceBetween(readText(options.compared), optimizer.recipe());
    if (options.json)
      return printAsJson(difference);
    printHistory(optimizer);
    if (options.measure) {
      fmt::print("\nmeasured: {}{}\n", duration(times.front()),
                 times.size() > 1 ? " at the start, " + duration(times.back()) + " now" : "");
      printMeasured(changes);
    }
    if (!options.compared.empty())
      fmt::print("\n{}", difference);
    if (!options.predicted.empty()) {
      fmt::print("\n");
      printTransformations(predicted(), options.predicted.size());
    }
    if (options.list) {
      fmt::print("\n");
      printTransformations(listed(), options.most);
    }
  }

  void printAsJson(const std::string &difference) {
    json document = {{"model", nameOf(options)},
                     {"now", optimize::json(optimizer.figures())},
                     {"history", historyJson(optimizer)},
                     {"recipe", optimizer.recipe()}};
    if (!options.compared.empty())
      document["difference"] = difference;
    if (options.measure) {
      document["measured_us"] = times;
      document["changes"] = json::array();
      for (const MeasuredChange &change : changes)
        document["changes"].push_back(optimize::json(change));
    }
    if (!options.predicted.empty())
      document["predicted"] = optimize::json(predicted());
    if (options.list)
      document["transformations"] = optimize::json(listed());
    fmt::print("{}\n", jsonText(document));
  }

  const OptimizeOptions &options;
  Optimizer optimizer;
  std::vector<double> times; // of the states
  std::vector<MeasuredChange> changes;
};

int blameSteps(const BlameOptions &options) {
  Optimizer optimizer = begin(options, readText(options.first));
  std::string second = readText(options.second);
  optimize::Blame result;
  {
    Progress progress("comparing recipes");
    result = blame(optimizer, second, options.measure ? options.seconds : 0);
  }
  if (options.json)
    fmt::print("{}\n", jsonText(optimize::json(result)));
  else
    printBlame(result);
  return 0;
}

void addProgramOptions(CLI::App &command, ProgramOptions &options) {
  addModelOptions(command, options.model);
  addSizeOption(command, options.sizes);
  CLI::Option *gradient =
      command.add_flag("--grad", options.gradient, "Optimize the model and its gradient");
  command
      .add_option("--wrt", options.gradients.wrt,
                  "An input or a weight to differentiate by (repeatable; default: all inputs)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->needs(gradient);
  command.add_flag("--weights", options.weights, "Differentiate by every weight")->needs(gradient);
  command.add_flag("--json", options.json, "Print JSON");
}

} // namespace

void addOptimizeCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<OptimizeOptions>();
  CLI::App *command = app.add_subcommand(
      "optimize", "List what could be done to a program and what it would gain, and do it");
  addProgramOptions(*command, *options);
  CLI::Option *from = command->add_option(
      "--from", options->start,
      "Start from the compiler's plan (auto), or with nothing fused and plain loops (unfused)");
  from->type_name("START")->check(oneOf({"auto", "unfused"}))->capture_default_str();
  command->add_flag_callback(
             "--auto", [] {}, "Start from the compiler's plan, as by default")
      ->excludes(from);
  command->add_flag("--list", options->list,
                    "List steps, with the predicted change of each, the best first");
  command
      ->add_option("--only", options->only,
                   "List steps with this verb only (fuse, separate, layout, ..., schedule)")
      ->type_name("VERB");
  command->add_option("--most", options->most, "Steps to print")
      ->type_name("N")
      ->capture_default_str();
  command
      ->add_option("--apply", options->steps,
                   "Do a step, as --list prints it, and check the result (repeatable)")
      ->type_name("STEP")
      ->allow_extra_args(false);
  command
      ->add_option("--predict", options->predicted,
                   "Say what a step would change, without doing it (repeatable)")
      ->type_name("STEP")
      ->allow_extra_args(false);
  command
      ->add_option("--replay", options->replayed,
                   "Do the steps that --save noted in this recipe, on this model or on "
                   "operators of equal structure in another one")
      ->type_name("FILE");
  command->add_flag("--greedy", options->greedy,
                    "Do the step that saves most until none saves time");
  command->add_option("--search", options->searched, "Search for a better recipe by so many steps")
      ->type_name("N");
  command->add_option("--budget", options->limits.seconds, "Seconds after which no step is begun")
      ->type_name("SECONDS")
      ->check(inRange(0.0));
  command->add_option("--seed", options->limits.seed, "Of the search")->type_name("N");
  command->add_option("--undo", options->undone, "Undo the last steps")
      ->type_name("N")
      ->check(inRange(0, 1 << 20));
  command->add_flag("--measure", options->measure,
                    "Time every state in turns, on one thread, next to the prediction");
  command->add_option("--seconds", options->seconds, "Time for each state with --measure")
      ->type_name("SECONDS")
      ->check(inRange(0.0))
      ->capture_default_str();
  command
      ->add_option("--save", options->saved,
                   "Write the complete recipe into this file; --recipe follows it")
      ->type_name("FILE");
  command
      ->add_option("--diff", options->compared,
                   "Print the difference between the recipe in this file and the program's")
      ->type_name("FILE");
  command->footer("Examples:\n"
                  "  headrace optimize examples/digits/digits.onnx --size batch=16 --list\n"
                  "  headrace optimize model.onnx --apply \"separate relu1\" --save model.recipe\n"
                  "  headrace optimize model.onnx --recipe model.recipe --list --only fuse\n"
                  "  headrace optimize model.onnx --from unfused --greedy --measure");
  command->callback([options, &action] { action = [options] { return Guided(*options).run(); }; });
}

void addBlameCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<BlameOptions>();
  CLI::App *command = app.add_subcommand(
      "blame", "Divide the difference in time between two recipes among their lines");
  addProgramOptions(*command, *options);
  command->add_option("A", options->first, "The recipe to begin with")->required()->type_name("");
  command->add_option("B", options->second, "The recipe to compare it with")
      ->required()
      ->type_name("");
  command->add_flag("--measure", options->measure,
                    "Time the programs in between instead of predicting them");
  command->add_option("--seconds", options->seconds, "Time for all of them with --measure")
      ->type_name("SECONDS")
      ->check(inRange(0.0))
      ->capture_default_str();
  command->footer("Example:\n"
                  "  headrace blame model.onnx good.recipe slow.recipe");
  command->callback([options, &action] { action = [options] { return blameSteps(*options); }; });
}

} // namespace headrace::cli
