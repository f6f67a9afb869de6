// headrace explore: task graphs of a program on arrays of processing elements.
#include "driver/Model.h"
#include "driver/programs/ScriptBlocks.h"
#include "explore/graph/TaskGraphFile.h"
#include "explore/operators/SizedProgram.h"
#include "explore/schedule/Gantt.h"
#include "explore/search/ParetoPlot.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "commands/RunScript.h"
#include "report/ExploreReport.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;
using namespace explore;

struct ExploreCommandOptions {
  std::vector<std::string> files;
  ExploreOptions explore;
  ArrayMachine machine;
  std::vector<std::string> sizes, inputs;
  ScriptArguments script;
  std::string partitioner = "both", convention = "tight", granularity = "map", svg;
  bool json = false, noSimulation = false;
};

std::string fileName(std::string text) {
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '-';
  return text;
}

void writePicture(const fs::path &path, const std::string &picture) {
  writeFileAtomically(path, {std::as_bytes(std::span(picture))});
  fmt::print(stderr, "wrote {}\n", printable(path.string()));
}

void writePictures(const fs::path &folder, const Exploration &exploration) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw Error(ErrorKind::Io, fmt::format("{}: cannot create the directory: {}", folder.string(),
                                           failure.message()));
  for (const Outcome &outcome : exploration.outcomes) {
    int elements = outcome.processingElements();
    std::string title = fmt::format("{} {}, {} processing elements: {} cycles", exploration.name,
                                    outcome.implementation, elements, outcome.schedule.makespan);
    writePicture(folder / fmt::format("{}-{}-{}.svg", fileName(exploration.name),
                                      fileName(outcome.implementation), elements),
                 ganttSvg(outcome.graph, outcome.schedule, title));
  }
  if (exploration.outcomes.size() > 1)
    writePicture(folder / (fileName(exploration.name) + "-pareto.svg"),
                 paretoSvg(exploration.outcomes, exploration.name));
}

bool isJson(const std::string &path) { return path.ends_with(".json"); }

/// Values of the sizes that the program has; others may be another program's.
Sizes sizesOf(const ExploreCommandOptions &options, const Model &model) {
  std::vector<std::string> own;
  for (const std::string &text : options.sizes) {
    std::string name = text.substr(0, text.find('='));
    if (options.files.size() == 1 ||
        std::ranges::find(model.symbols(), name) != model.symbols().end())
      own.push_back(text);
  }
  return parseSizes(own, model.symbols());
}

class Explorer {
public:
  explicit Explorer(const ExploreCommandOptions &options) : options(options) {}

  std::vector<Exploration> run() {
    for (const std::string &file : options.files)
      add(file);
    if (!graphs.empty())
      results.push_back(exploreGraphs(graphs, options.explore, options.machine));
    if (wholes.size() + scripts.size() > 1)
      results.push_back(rivals());
    return std::move(results);
  }

private:
  void add(const std::string &file) {
    if (isScript(file)) {
      addScript(file);
      return;
    }
    if (!isJson(file)) {
      std::shared_ptr<Model> model = Model::load(file);
      wholes.push_back(explored(operatorsOf(*model, sizesOf(options, *model))));
      return;
    }
    std::string content = readText(file);
    if (isSizedProgram(content))
      wholes.push_back(explored(parseSizedProgram(content, file)));
    else
      graphs.push_back(readTaskGraph(file));
  }

  void addScript(const std::string &file) {
    std::vector<script::ScriptBlock> blocks;
    try {
      blocks = script::blocksOf(file, {options.script.values(), parseVariables(options.inputs),
                                       options.script.folders()});
    } catch (const Error &error) {
      throw ScriptError(error.what());
    }
    std::vector<Exploration> parts;
    std::vector<int64_t> runs;
    for (const script::ScriptBlock &block : blocks) {
      parts.push_back(explored(operatorsOf(*block.model, block.sizes)));
      runs.push_back(block.runs);
    }
    scripts.push_back(exploreSequence(fs::path(file).filename().string(), parts, runs,
                                      options.explore, options.machine));
    results.push_back(scripts.back());
  }

  /// Programs that compete: scripts by the sums of their parts.
  Exploration rivals() const {
    Exploration result = exploreRivals(wholes, options.explore, options.machine);
    for (const Exploration &script : scripts)
      for (const std::string &remark : script.remarks)
        result.remarks.push_back(script.name + " " + remark);
    return result;
  }

  OperatorGraph operatorsOf(Model &model, const Sizes &sizes) const {
    return model.operators(options.granularity == "map" ? Granularity::Map : Granularity::Fused,
                           sizes);
  }

  /// Adds the tables of a program; returns the last one, of all of it.
  Exploration explored(const OperatorGraph &program) {
    std::vector<Exploration> own = exploreOperators(program, options.explore, options.machine);
    results.insert(results.end(), own.begin(), own.end());
    return own.back();
  }

  const ExploreCommandOptions &options;
  std::vector<TaskGraph> graphs;
  std::vector<Exploration> results, wholes, scripts;
};

int runExplore(ExploreCommandOptions options) {
  Convention convention = options.convention == "tight" ? Convention::Tight : Convention::Slide;
  options.explore.tasks.convention = convention;
  if (options.partitioner != "both")
    options.explore.partitioner =
        options.partitioner == "lts" ? Partitioner::LargestFirst : Partitioner::Relaxed;
  options.explore.simulate = !options.noSimulation;
  std::vector<Exploration> results;
  {
    Progress progress("exploring");
    results = Explorer(options).run();
  }
  if (!options.svg.empty())
    for (const Exploration &exploration : results)
      writePictures(options.svg, exploration);
  if (options.json)
    fmt::print("{}\n", explorationJson(results, convention));
  else
    printExploration(results);
  for (const Exploration &exploration : results)
    for (const Outcome &outcome : exploration.outcomes)
      if (!outcome.deadlock.empty())
        throw InternalError(outcome.implementation + ": " + outcome.deadlock);
  return 0;
}

} // namespace

void addExploreCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<ExploreCommandOptions>();
  CLI::App *command = app.add_subcommand(
      "explore", "Compare task graphs of a program: volumes, streaming schedules, makespans");
  command
      ->add_option(
          "PROGRAM", options->files,
          "An ONNX file, a script (.dml), or JSON: operators given by their sizes, or task "
          "graphs;\nseveral are compared")
      ->type_name("")
      ->required();
  command
      ->add_option("--pes", options->explore.processingElements,
                   "Numbers of processing elements (default 16,128)")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(inRange(1, 1 << 20));
  addSizeOption(*command, options->sizes);
  command
      ->add_option("--granularity", options->granularity,
                   "What tasks are made of: operators (map), or kernels as the compiler plans them "
                   "(fused)")
      ->type_name("NAME")
      ->check(oneOf({"map", "fused"}))
      ->capture_default_str();
  command
      ->add_option("--convention", options->convention,
                   "How volumes of operators are counted: tight, or slide (a partial result counts "
                   "as its whole destination)")
      ->type_name("NAME")
      ->check(oneOf({"tight", "slide"}))
      ->capture_default_str();
  command
      ->add_option("--partitioner", options->partitioner,
                   "How tasks are assigned to blocks: lts, rlx, or both (shows the shorter)")
      ->type_name("NAME")
      ->check(oneOf({"lts", "rlx", "both"}))
      ->capture_default_str();
  command
      ->add_option("--tasks", options->explore.tasks.maxTasks,
                   "Maximum number of tasks per operator (default 4096)")
      ->type_name("N")
      ->check(inRange(1, 1 << 16));
  command
      ->add_option("--search", options->explore.evaluations,
                   "Combinations of implementations to schedule for a program (default 32)")
      ->type_name("N")
      ->check(inRange(1, 1 << 16));
  command
      ->add_option("--bandwidth", options->machine.bandwidth,
                   "Off-chip bandwidth of the machine, in elements per cycle, for the choice")
      ->type_name("X")
      ->check(aboveZero());
  command
      ->add_option("--memory", options->machine.memory,
                   "Size of the machine's buffers, in elements, for the choice")
      ->type_name("N")
      ->check(inRange<int64_t>(0));
  command->add_flag("--no-simulation", options->noSimulation, "Do not simulate the schedules");
  command
      ->add_option(
          "--svg", options->svg,
          "Write a Gantt chart of every schedule, and a plot of each table, into this directory")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Report as JSON");
  command
      ->add_option("--input", options->inputs,
                   "A variable that a script starts from, a number or a file: X=@x.npy")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  addScriptArguments(*command, options->script);
  command->footer("Examples:\n"
                  "  headrace explore examples/digits/digits.onnx --size batch=1 --pes 16,128\n"
                  "  headrace explore examples/explore/lenet.json --pes 16,128\n"
                  "  headrace explore examples/explore/convolution.json --convention slide");
  command->callback([options, &action] { action = [options] { return runExplore(*options); }; });
}

} // namespace headrace::cli
