// headrace explain: what the compiler makes of a model, and what that saves.
#include "driver/Model.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "report/ExplainReport.h"
#include "report/GraphReport.h"
#include "report/Table.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

const char *const kAll = "true"; // what a flag without a value gives

struct ExplainOptions {
  ModelOptions model;
  std::vector<std::string> sizes;
  std::string phase;
  std::string jsonFormat; // empty: no JSON
  std::string codeOf;     // the node with --code, "*" for all
  bool gradient = false;
  bool weights = false;
  GradientOptions gradients;
  bool phases = false;
  bool recipes = false;
  std::string recipeOut;
  std::string why; // an operator, or kAll
};

bool isJson(const ExplainOptions &options) { return !options.jsonFormat.empty(); }

std::vector<PhaseInfo> phasesOf(const ExplainOptions &options) {
  std::vector<PhaseInfo> all = phases(options.model.settings.target);
  if (options.gradient) {
    std::vector<PhaseInfo> before = gradientPhases();
    all.insert(all.begin(), before.begin(), before.end());
  }
  return all;
}

void printPhases(const ExplainOptions &options) {
  if (isJson(options)) {
    printJson(phasesOf(options));
    return;
  }
  Table table({{"phase", Table::Align::Left}, {"after it", Table::Align::Left}});
  for (const PhaseInfo &phase : phasesOf(options))
    table.add({phase.name, phase.summary});
  table.print(stdout);
}

// The symbols that the compiled program still has are numbered anew.
Sizes openSizes(const Explanation &explanation, const Model &model, const Sizes &sizes) {
  Sizes open;
  for (const std::string &name : explanation.symbols) {
    auto symbol = std::find(model.symbols().begin(), model.symbols().end(), name);
    open.push_back(sizes[static_cast<size_t>(symbol - model.symbols().begin())]);
  }
  return open;
}

GradientOptions gradientsOf(const ExplainOptions &options, const Model &model) {
  GradientOptions gradients = options.gradients;
  if (options.weights)
    for (const TensorSpec &weight : model.weights())
      gradients.wrt.push_back(weight.name);
  return gradients;
}

/// The operator of --why=OPERATOR, which one of the programs has; empty if all are requested.
std::string operatorOf(const ExplainOptions &options,
                       std::initializer_list<const Explanation *> programs) {
  if (options.why == kAll)
    return "";
  auto knows = [&](const Explanation *program) { return speaksOf(*program, options.why); };
  if (std::ranges::none_of(programs, knows))
    throw Error(ErrorKind::InvalidArgument,
                fmt::format("--why={}: expected an operator or kernel that explain lists, got "
                            "none of that name",
                            options.why));
  return options.why;
}

/// Phases whose programs have graphs of their own: later ones have the graph of `schedule`.
constexpr const char *kLastGraph = "schedule";

/// The program after the phase of --to, or after each phase.
int exportToModelExplorer(const ExplainOptions &options, Model &model, const Sizes &sizes) {
  std::vector<ProgramGraph> graphs;
  Progress progress("compiling " + model.name());
  for (const PhaseInfo &phase : phases(options.model.settings.target)) {
    if (options.phase.empty() || options.phase == phase.name)
      graphs.push_back(model.graph(phase.name, sizes));
    if (phase.name == kLastGraph)
      break;
  }
  if (graphs.empty()) // a phase of code, or none
    graphs.push_back(model.graph(options.phase, sizes));
  printModelExplorer(model.name(), graphs);
  return 0;
}

/// The graph of a phase with the code that --code asks for, or that code alone.
int showGraph(const ExplainOptions &options, Model &model, const Sizes &sizes) {
  ProgramGraph graph = model.graph(options.phase, sizes, options.codeOf);
  auto isAsked = [&](const GraphNode &node) { return node.id == options.codeOf; };
  auto node = std::ranges::find_if(graph.nodes, isAsked);
  if (!options.codeOf.empty() && options.codeOf != "*" && node == graph.nodes.end())
    throw Error(ErrorKind::InvalidArgument,
                fmt::format("--code={}: expected a node that explain --to={} --json lists, got "
                            "none of that name",
                            options.codeOf, options.phase));
  if (isJson(options))
    printJson(graph);
  else
    for (const GraphNode &each : graph.nodes)
      if (!each.code.empty())
        fmt::print("{}{}\n\n", node == graph.nodes.end() ? "// " + each.id + "\n" : "", each.code);
  return 0;
}

/// The program and its gradient, each on its own, and what goes from one to the other.
int explainGradient(const ExplainOptions &options, const Model &model, const Sizes &sizes) {
  GradientOptions gradients = gradientsOf(options, model);
  GradientExplanation explanation;
  {
    Progress progress("compiling " + model.name());
    ForwardBackward pair = model.forwardAndBackward(gradients);
    explanation.forward = pair.forward->explain(sizes);
    explanation.backward = pair.backward->explain(sizes);
    explanation.symbols = model.symbols();
    explanation.computedAgain = pair.computedAgain;
    explanation.recipe = pair.choices + "forward:\n" + explanation.forward.recipe + "backward:\n" +
                         explanation.backward.recipe;
    for (const SavedTensor &kept : pair.kept)
      if (kept.place == SavedTensor::Place::Output && kept.index >= model.outputs().size())
        explanation.kept.push_back(kept.spec);
  }
  if (!options.recipeOut.empty())
    writeFileAtomically(options.recipeOut, {std::as_bytes(std::span(explanation.recipe))});
  if (options.recipes)
    fmt::print("{}", explanation.recipe);
  else if (!options.why.empty())
    printReasons(explanation, sizes,
                 operatorOf(options, {&explanation.forward, &explanation.backward}));
  else if (isJson(options))
    printJson(explanation, sizes);
  else
    printTables(explanation, sizes);
  return 0;
}

int explainModel(const ExplainOptions &options) {
  if (options.phases && options.model.path.empty()) {
    printPhases(options);
    return 0;
  }
  std::shared_ptr<Model> model = loadModel(options.model);
  bool asksForMore = options.gradient || isJson(options) || options.recipes ||
                     !options.phase.empty() || !options.recipeOut.empty() || !options.why.empty();
  if (model->isSplit() && !asksForMore)
    fmt::print("{}\n", model->splitText());
  Sizes sizes = parseSizes(options.sizes, model->symbols());
  if (options.jsonFormat == "model-explorer") {
    if (options.gradient)
      throw UsageError("--json=model-explorer: expected a model without --grad");
    return exportToModelExplorer(options, *model, sizes);
  }
  bool wantsGraph = isJson(options) || !options.codeOf.empty();
  if (!options.phase.empty() && wantsGraph && !options.gradient)
    return showGraph(options, *model, sizes);
  if (!options.phase.empty() && isJson(options)) {
    printJson(model->gradientGraphs(options.phase, gradientsOf(options, *model), sizes));
    return 0;
  }
  if (!options.phase.empty()) {
    std::string ir = options.gradient
                         ? model->gradientIr(options.phase, gradientsOf(options, *model), sizes)
                         : model->ir(options.phase, sizes);
    fmt::print("{}{}", ir, ir.ends_with('\n') ? "" : "\n");
    return 0;
  }
  if (options.gradient)
    return explainGradient(options, *model, sizes);
  Explanation explanation;
  {
    Progress progress("compiling " + model->name());
    explanation = model->explain(sizes);
  }
  Sizes open = openSizes(explanation, *model, sizes);
  if (!options.recipeOut.empty())
    writeFileAtomically(options.recipeOut, {std::as_bytes(std::span(explanation.recipe))});
  if (options.recipes)
    fmt::print("{}", explanation.recipe);
  else if (!options.why.empty())
    printReasons(explanation, open, operatorOf(options, {&explanation}));
  else if (isJson(options))
    printJson(explanation, open);
  else
    printTables(explanation, open);
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
  command
      ->add_flag("--json{report}", options->jsonFormat,
                 "Print JSON: the report, or with --to the program after that phase as a graph; "
                 "--json=model-explorer: graphs for Model Explorer")
      ->check(oneOf({"report", "model-explorer"}));
  command
      ->add_flag("--code{*}", options->codeOf,
                 "With --to: the IR of each node of the graph; --code=NODE: of one node, as text "
                 "without --json")
      ->needs(phase);
  command
      ->add_flag(
          "--recipes", options->recipes,
          "Print the recipe: every choice of the compiler, and how the loops of each kernel run")
      ->excludes(phase);
  command
      ->add_option("--recipe-out", options->recipeOut,
                   "Write the recipe into this file; --recipe follows it")
      ->type_name("FILE")
      ->excludes(phase);
  command
      ->add_flag("--why", options->why,
                 "Print missed optimizations and the reasons: operators not fused, layouts and "
                 "libraries not chosen; --why=OPERATOR: of one operator")
      ->excludes(phase);
  command
      ->add_flag("--phases", options->phases,
                 "List the phases of the compiler, for --target and with --grad (no MODEL)")
      ->excludes(phase);
  CLI::Option *gradient = command->add_flag(
      "--grad", options->gradient,
      "Explain the model and its gradient: saved tensors, recomputed values, data moved");
  command
      ->add_option("--wrt", options->gradients.wrt,
                   "An input or a weight to differentiate by (repeatable; default: all inputs)")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->needs(gradient);
  command->add_flag("--weights", options->weights, "Differentiate by every weight")
      ->needs(gradient);
  command
      ->add_option("--memory-budget", options->gradients.memoryBudget,
                   "Limit on the bytes saved for the gradient in addition to inputs and outputs")
      ->type_name("BYTES")
      ->check(inRange<int64_t>(0))
      ->needs(gradient);
  command->footer("Examples:\n"
                  "  headrace explain examples/digits/digits.onnx --size batch=16\n"
                  "  headrace explain --phases\n"
                  "  headrace explain model.onnx --to=kernels\n"
                  "  headrace explain model.onnx --to=kernels --json\n"
                  "  headrace explain model.onnx --to=tiles --code=conv1\n"
                  "  headrace explain model.onnx --json=model-explorer > model.json\n"
                  "  headrace explain model.onnx --why\n"
                  "  headrace explain model.onnx --grad --to=differentiate\n"
                  "  headrace explain --grad --weights examples/digits/digits.onnx");
  command->callback([options, &action] { action = [options] { return explainModel(*options); }; });
}

} // namespace headrace::cli
