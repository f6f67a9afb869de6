// headrace optimize: what could be done to a program and what it would gain, done and undone.
#include "optimize/Optimizer.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "report/OptimizeReport.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace headrace::cli {

namespace {

using json = nlohmann::ordered_json;
using optimize::Optimizer;
using optimize::Transformation;

struct OptimizeOptions {
  ModelOptions model;
  std::vector<std::string> sizes;
  bool list = false;
  std::string only; // a verb; empty: all
  size_t most = 40;
  std::vector<std::string> steps;
  int undone = 0;
  std::string saved;
  std::string compared;
  bool json = false;
};

class Guided {
public:
  explicit Guided(const OptimizeOptions &options) : options(options) {}

  int run() {
    model = loadModel(options.model);
    sizes = parseSizes(options.sizes, model->symbols());
    settings = options.model.settings;
    if (!options.model.recipe.empty())
      settings.recipe = readText(options.model.recipe);
    Optimizer optimizer(model, settings, sizes);
    for (const std::string &step : options.steps)
      apply(optimizer, step);
    for (int i = 0; i < options.undone; ++i)
      if (!optimizer.undo())
        throw Error(ErrorKind::InvalidArgument,
                    fmt::format("--undo: expected at most {} steps, got {}", i, options.undone));
    if (!options.saved.empty())
      save(optimizer);
    report(optimizer);
    return 0;
  }

private:
  void apply(Optimizer &optimizer, const std::string &step) {
    Progress progress("applying " + step);
    optimizer.apply(step);
  }

  void save(const Optimizer &optimizer) const {
    std::string text = "# " + printable(model->name()) + "\n";
    for (size_t i = 1; i <= optimizer.position(); ++i)
      text += "# step: " + optimizer.states()[i].step + "\n";
    text += optimizer.recipe();
    writeFileAtomically(options.saved, {std::as_bytes(std::span(text))});
  }

  std::vector<Transformation> listed(Optimizer &optimizer) const {
    std::vector<Transformation> all = optimizer.list([](size_t done, size_t count) {
      showStatus(fmt::format("predicting step {} of {}", done + 1, count));
    });
    clearStatus();
    if (!options.only.empty())
      std::erase_if(all, [&](const Transformation &each) { return each.verb != options.only; });
    return all;
  }

  void report(Optimizer &optimizer) const {
    std::string difference;
    if (!options.compared.empty())
      difference = optimize::differenceBetween(readText(options.compared), optimizer.recipe());
    if (options.json) {
      json document = {{"model", model->name()},
                       {"now", figuresJson(optimizer.figures())},
                       {"history", historyJson(optimizer)},
                       {"recipe", optimizer.recipe()}};
      if (!options.compared.empty())
        document["difference"] = difference;
      if (options.list)
        for (const Transformation &each : listed(optimizer))
          document["transformations"].push_back(transformationJson(each));
      fmt::print("{}\n", jsonText(document));
      return;
    }
    printHistory(optimizer);
    if (!options.compared.empty())
      fmt::print("\n{}", difference);
    if (options.list) {
      fmt::print("\n");
      printTransformations(listed(optimizer), options.most);
    }
  }

  const OptimizeOptions &options;
  std::shared_ptr<Model> model;
  Settings settings;
  Sizes sizes;
};

} // namespace

void addOptimizeCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<OptimizeOptions>();
  CLI::App *command = app.add_subcommand(
      "optimize", "List what could be done to a program and what it would gain, and do it");
  addModelOptions(*command, options->model);
  addThreadsOption(*command, options->model);
  addSizeOption(*command, options->sizes);
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
  command->add_option("--undo", options->undone, "Undo the last steps")
      ->type_name("N")
      ->check(inRange(0, 1 << 20));
  command
      ->add_option("--save", options->saved,
                   "Write the complete recipe into this file; --recipe follows it")
      ->type_name("FILE");
  command
      ->add_option("--diff", options->compared,
                   "Print the difference between the recipe in this file and the program's")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n"
                  "  headrace optimize examples/digits/digits.onnx --size batch=16 --list\n"
                  "  headrace optimize model.onnx --apply \"separate relu1\" --save model.recipe\n"
                  "  headrace optimize model.onnx --recipe model.recipe --list --only fuse");
  command->callback([options, &action] { action = [options] { return Guided(*options).run(); }; });
}

} // namespace headrace::cli
