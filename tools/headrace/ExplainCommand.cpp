// headrace explain: what the compiler makes of a model, and what that saves.
#include "driver/Model.h"

#include "Commands.h"
#include "Console.h"
#include "ExplainReport.h"
#include "ModelOptions.h"
#include "Table.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

struct ExplainOptions {
  ModelOptions model;
  std::vector<std::string> sizes;
  std::string phase;
  bool json = false;
  bool phases = false;
  bool recipes = false;
};

void printPhases() {
  Table table({{"phase", Table::Align::Left}, {"after it", Table::Align::Left}});
  for (const PhaseInfo &phase : phases())
    table.add({phase.name, phase.summary});
  table.print(stdout);
}

int explainModel(const ExplainOptions &options) {
  if (options.phases && options.model.path.empty()) {
    printPhases();
    return 0;
  }
  std::shared_ptr<Model> model = loadModel(options.model);
  Sizes sizes = parseSizes(options.sizes, model->symbols());
  if (!options.phase.empty()) {
    std::string ir = model->ir(options.phase, sizes);
    fmt::print("{}{}", ir, ir.ends_with('\n') ? "" : "\n");
    return 0;
  }
  Explanation explanation;
  {
    Progress progress("compiling " + model->name());
    explanation = model->explain(sizes);
  }
  if (options.recipes)
    printRecipes(explanation);
  else if (options.json)
    printJson(explanation, sizes);
  else
    printTables(explanation, sizes);
  return 0;
}

} // namespace

void addExplainCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *command = app.add_subcommand(
      "explain", "Show the kernels of a model and the data they move, before and after");
  addModelOptions(*command, options->model);
  addSizeOption(*command, options->sizes);
  CLI::Option *phase =
      command->add_option("--to", options->phase, "Print the program after this phase instead")
          ->type_name("PHASE");
  command->add_flag("--json", options->json, "Print JSON")->excludes(phase);
  command->add_flag("--recipes", options->recipes, "Print how the loops of every kernel run")
      ->excludes(phase);
  command->add_flag("--phases", options->phases, "List the phases of the compiler (no MODEL)")
      ->excludes(phase);
  command->footer("Examples:\n"
                  "  headrace explain examples/digits/digits.onnx --size batch=16\n"
                  "  headrace explain --phases\n"
                  "  headrace explain model.onnx --to=kernels");
  command->callback([options, &action] { action = [options] { return explainModel(*options); }; });
}

} // namespace headrace::cli
