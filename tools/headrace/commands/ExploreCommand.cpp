// headrace explore: task graphs of a program on arrays of processing elements.
#include "explore/Exploration.h"
#include "explore/Gantt.h"
#include "explore/TaskGraphFile.h"
#include "runtime/system/AtomicWrite.h"
#include "runtime/system/Error.h"
#include "runtime/system/MappedFile.h"

#include "commands/Commands.h"
#include "report/ExploreReport.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;
using namespace explore;

struct ExploreCommandOptions {
  std::vector<std::string> files;
  ExploreOptions explore;
  std::string partitioner = "both", convention = "tight", svg;
  bool json = false, noSimulation = false;
};

std::string contentOf(const std::string &path) {
  auto file = MappedFile::open(path);
  return {reinterpret_cast<const char *>(file->data()), file->size()};
}

std::string fileName(std::string text) {
  for (char &c : text)
    if (!std::isalnum(static_cast<unsigned char>(c)))
      c = '-';
  return text;
}

void writePictures(const fs::path &folder, const Exploration &exploration) {
  std::error_code failure;
  fs::create_directories(folder, failure);
  if (failure)
    throw Error(ErrorKind::Io,
                fmt::format("{}: cannot make the folder: {}", folder.string(), failure.message()));
  for (const Outcome &outcome : exploration.outcomes) {
    int elements = outcome.schedule.options.processingElements;
    std::string title = fmt::format("{} {}, {} processing elements: {} cycles", exploration.name,
                                    outcome.implementation, elements, outcome.schedule.makespan);
    fs::path path = folder / fmt::format("{}-{}-{}.svg", fileName(exploration.name),
                                         fileName(outcome.implementation), elements);
    std::string picture = ganttSvg(outcome.graph, outcome.schedule, title);
    writeFileAtomically(path, {std::as_bytes(std::span(picture))});
    fmt::print(stderr, "wrote {}\n", printable(path.string()));
  }
}

// Graphs in several files are rivals: implementations of one program.
Exploration exploreGraphs(const std::vector<TaskGraph> &graphs, const ExploreOptions &options) {
  Exploration result{"graphs", {}, {}};
  for (int elements : options.processingElements)
    for (const TaskGraph &graph : graphs)
      result.outcomes.push_back(evaluate(graph.name, graph, elements, options));
  markPareto(result.outcomes);
  return result;
}

void exploreSizes(const SizedProgram &program, Convention convention, const ExploreOptions &options,
                  std::vector<Exploration> &results) {
  std::vector<std::vector<Outcome>> byOperator;
  for (size_t i = 0; i < program.operators.size(); ++i) {
    byOperator.push_back(exploreOperator(program, i, convention, options));
    if (!byOperator.back().empty())
      results.push_back({program.operators[i].name, byOperator.back(), {}});
  }
  if (program.operators.size() == 1 && !byOperator.front().empty())
    return;
  ProgramOutcomes whole = exploreProgram(program, convention, options, byOperator);
  std::vector<std::string> choices;
  for (const auto &[elements, names] : whole.choices)
    choices.push_back(fmt::format("fastest at {} processing elements: {}", elements,
                                  names.empty() ? "no operator has a choice" : names));
  results.push_back({program.name, std::move(whole.outcomes), choices});
}

int runExplore(ExploreCommandOptions options) {
  Convention convention = options.convention == "tight" ? Convention::Tight : Convention::Slide;
  if (options.partitioner != "both")
    options.explore.partitioner =
        options.partitioner == "lts" ? Partitioner::LargestFirst : Partitioner::Relaxed;
  options.explore.simulate = !options.noSimulation;
  std::vector<Exploration> results;
  {
    Progress progress("exploring");
    std::vector<TaskGraph> graphs;
    for (const std::string &file : options.files) {
      std::string content = contentOf(file);
      if (isSizedProgram(content))
        exploreSizes(parseSizedProgram(content, file), convention, options.explore, results);
      else
        graphs.push_back(readTaskGraph(file));
    }
    if (!graphs.empty())
      results.push_back(exploreGraphs(graphs, options.explore));
  }
  if (!options.svg.empty())
    for (const Exploration &exploration : results)
      writePictures(options.svg, exploration);
  if (options.json)
    fmt::print("{}\n", exploreJson(results, options.convention));
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
          "FILE", options->files,
          "Task graphs, or operators given by their sizes, as JSON; several task graphs are "
          "rivals")
      ->type_name("")
      ->required();
  command
      ->add_option("--pes", options->explore.processingElements,
                   "Numbers of processing elements (default 16,128)")
      ->type_name("N,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1 << 20).description(""));
  command
      ->add_option("--convention", options->convention,
                   "How volumes of operators are counted: tight, or slide (a partial result counts "
                   "as its whole destination)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"tight", "slide"}).description(""))
      ->capture_default_str();
  command
      ->add_option("--partitioner", options->partitioner,
                   "How tasks are put into blocks: lts, rlx, or both, of which the better is shown")
      ->type_name("NAME")
      ->check(CLI::IsMember({"lts", "rlx", "both"}).description(""))
      ->capture_default_str();
  command->add_flag("--no-simulation", options->noSimulation, "Do not try the schedules out");
  command
      ->add_option("--svg", options->svg, "Write a Gantt chart of every schedule into this folder")
      ->type_name("DIR");
  command->add_flag("--json", options->json, "Report as JSON");
  command->footer("Examples:\n"
                  "  headrace explore examples/explore/lenet.json --pes 16,128\n"
                  "  headrace explore examples/explore/convolution.json --convention slide");
  command->callback([options, &action] { action = [options] { return runExplore(*options); }; });
}

} // namespace headrace::cli
