// headrace bench: times a model, alone or in turns with peers, and kernel by kernel.
#include "package/Package.h"
#include "runtime/program/Devices.h"
#include "runtime/system/ThreadPool.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "peer/Peer.h"
#include "report/BenchReport.h"
#include "tensors/Compare.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <list>

namespace headrace::cli {

namespace {

struct BenchOptions {
  ModelOptions model;
  InputOptions inputs;
  std::vector<std::string> against;
  int rounds = 10;
  double seconds = 2;
  bool profile = false;
  bool json = false;
};

// The same model compiled from what the user wrote: what a mapping to an accelerator is timed
// next to.
struct Direct {
  std::shared_ptr<Model> model;
  std::vector<double> times;
  SystemResult result;
};

// A peer under way: its times grow round by round.
struct Contestant {
  std::string name;
  std::unique_ptr<Peer> peer;
  std::vector<double> times;
  std::optional<double> maxAbsoluteError;
};

class Benchmark {
public:
  explicit Benchmark(const BenchOptions &options) : options(options) {}

  BenchResult run() {
    prepare();
    if (!options.model.settings.accelerator.empty())
      prepareDirect();
    for (const std::string &name : options.against)
      startPeer(name);
    for (int round = 0; round < options.rounds; ++round) {
      showStatus(fmt::format("round {} of {}", round + 1, options.rounds));
      takeTurns();
    }
    clearStatus();
    ours.times = summarize(std::move(times));
    result.systems.push_back(ours);
    if (direct) {
      direct->result.times = summarize(std::move(direct->times));
      result.systems.push_back(direct->result);
    }
    for (const Contestant &contestant : contestants)
      addResult(contestant);
    // Measured last: reading the clock between kernels costs time.
    if (options.profile && model->isSplit())
      profileSteps();
    else if (options.profile)
      profile();
    return std::move(result);
  }

private:
  void prepare() {
    Stopwatch load;
    model = loadModel(options.model);
    ours.load = load.microseconds();
    inputs = model->isSplit() ? gatherValues(*model, options.inputs)
                              : asValues(gatherInputs(*model, options.inputs));
    outputs = firstAnswer(*model, ours);
    ours.name = "headrace";
    ours.version = HEADRACE_VERSION;
    if (const std::string &file = options.model.settings.accelerator; !file.empty())
      ours.name += ", mapped to " + std::filesystem::path(file).stem().string();

    result.model = options.model.path;
    for (size_t i = 0; i < inputs.size(); ++i)
      result.inputs.emplace_back(model->inputs()[i].name, inputs[i]);
    result.threads = ThreadPool::global().threads();
    result.rounds = options.rounds;
    result.seconds = options.seconds;
    if (model->isSplit())
      countStages();
    else
      countSteps();
  }

  // The bytes and operations of a call.
  void countSteps() {
    useExecutable();
    // The device is timed, not the copies to it.
    timedInputs = *asTensors(inputs);
    if (MemorySpace place = executable->place(); !place.onHost())
      for (Tensor &input : timedInputs)
        input = devices::toDevice(input, place.device);
    for (const Step &step : executable->program().steps) {
      result.bytesMoved += bytesOf(step);
      result.operations += step.cost.operations.evaluate(sizes);
    }
  }

  // The one that serves the inputs now: it may be another one after many calls.
  void useExecutable() {
    std::vector<Tensor> tensors = *asTensors(inputs);
    executable = model->compile(tensors); // known by now
    sizes = executable->bind(tensors).value_or(std::vector<int64_t>());
  }

  void countStages() {
    for (const ProfiledStep &step : model->profileSteps(inputs, 1)) {
      result.bytesMoved += step.bytes;
      result.operations += step.operations;
    }
  }

  static std::vector<RuntimeValue> asValues(const std::vector<Tensor> &tensors) {
    return {tensors.begin(), tensors.end()};
  }

  // Nothing if a value is not a numeric tensor.
  static std::optional<std::vector<Tensor>> asTensors(const std::vector<RuntimeValue> &values) {
    std::vector<Tensor> tensors;
    for (const RuntimeValue &value : values) {
      if (!value.tensor())
        return std::nullopt;
      tensors.push_back(*value.tensor());
    }
    return tensors;
  }

  // The programs of a split model are compiled while it runs.
  std::vector<RuntimeValue> firstAnswer(Model &of, SystemResult &system) const {
    Stopwatch compile;
    if (!of.isSplit())
      compileModel(of, *asTensors(inputs));
    system.compile = of.isSplit() ? 0 : compile.microseconds();
    Stopwatch firstRun;
    std::vector<RuntimeValue> answer = of.runValues(inputs);
    system.firstRun = firstRun.microseconds();
    return answer;
  }

  void call(Model &of) const {
    if (of.isSplit())
      (void)of.runValues(inputs);
    else
      (void)of.run(timedInputs);
  }

  void prepareDirect() {
    ModelOptions given = options.model;
    given.settings.accelerator.clear();
    direct.emplace();
    direct->result.name = "headrace";
    direct->result.version = HEADRACE_VERSION;
    Stopwatch load;
    direct->model = loadModel(given);
    direct->result.load = load.microseconds();
    std::vector<RuntimeValue> answer = firstAnswer(*direct->model, direct->result);
    if (std::optional<std::vector<Tensor>> tensors = asTensors(answer))
      direct->result.maxAbsoluteError = largestError(*tensors);
  }

  int64_t bytesOf(const Step &step) const {
    return step.cost.bytesRead.evaluate(sizes) + step.cost.bytesWritten.evaluate(sizes);
  }

  void startPeer(const std::string &name) {
    Progress progress("loading in " + name);
    try {
      std::optional<std::vector<Tensor>> tensors = asTensors(inputs);
      if (!tensors || !asTensors(outputs))
        throw PeerError("baselines support only numeric tensors as inputs and outputs");
      Contestant contestant{name,
                            std::make_unique<Peer>(name, options.model.path, model->inputs(),
                                                   *tensors, result.threads),
                            {},
                            {}};
      contestant.maxAbsoluteError = largestError(contestant.peer->outputs());
      contestants.push_back(std::move(contestant));
    } catch (const PeerError &error) {
      result.missing.push_back({name, error.what()});
    }
  }

  double largestError(const std::vector<Tensor> &theirs) const {
    auto sameShape = [](const Tensor &a, const Tensor &b) { return a.shape() == b.shape(); };
    std::vector<Tensor> own = *asTensors(outputs);
    if (!std::equal(theirs.begin(), theirs.end(), own.begin(), own.end(), sameShape))
      throw PeerError("its outputs have other shapes than ours");
    double largest = 0;
    for (size_t i = 0; i < theirs.size(); ++i)
      largest = std::max(largest, compare(own[i], theirs[i], {}).maxAbsoluteError);
    return largest;
  }

  void takeTurns() {
    double turn = options.seconds / options.rounds;
    std::vector<double> ourTurn = timedTurn(turn, [this] { call(*model); });
    times.insert(times.end(), ourTurn.begin(), ourTurn.end());
    if (direct) {
      std::vector<double> turns = timedTurn(turn, [this] { call(*direct->model); });
      direct->times.insert(direct->times.end(), turns.begin(), turns.end());
    }
    for (auto contestant = contestants.begin(); contestant != contestants.end();) {
      try {
        std::vector<double> theirTurn = contestant->peer->turn(turn);
        contestant->times.insert(contestant->times.end(), theirTurn.begin(), theirTurn.end());
        ++contestant;
      } catch (const PeerError &error) {
        result.missing.push_back({contestant->name, error.what()});
        contestant = contestants.erase(contestant);
      }
    }
  }

  void addResult(const Contestant &contestant) {
    SystemResult system;
    system.name = contestant.name;
    system.version = contestant.peer->version();
    system.times = summarize(contestant.times);
    system.load = contestant.peer->loadMicroseconds();
    system.firstRun = contestant.peer->firstRunMicroseconds();
    system.maxAbsoluteError = contestant.maxAbsoluteError;
    result.systems.push_back(system);
  }

  // The median time of every step over some calls.
  void profile() {
    model->finishCompiling();
    useExecutable();
    const std::vector<Step> &steps = executable->program().steps;
    std::vector<std::vector<double>> stepTimes(steps.size());
    int calls = 0;
    auto timeSteps = [&] {
      ++calls;
      std::vector<double> call;
      executable->run(timedInputs, ThreadPool::global(), &call);
      for (size_t s = 0; s < std::min(call.size(), steps.size()); ++s)
        stepTimes[s].push_back(call[s]);
    };
    constexpr int fewest = 5; // calls, of which the median is not one that was disturbed
    timedTurn(options.seconds / 4, timeSteps);
    while (calls < fewest)
      timeSteps();
    std::vector<std::string> notes = executable->stepNotes();
    notes.resize(steps.size());
    std::vector<std::optional<KernelPrediction>> predicted(steps.size());
    if (!Package::isNamedLikeOne(options.model.path))
      std::ranges::copy(model->predict(*asTensors(inputs), result.threads), predicted.begin());
    for (size_t s = 0; s < steps.size(); ++s)
      result.kernels.push_back({steps[s].name, steps[s].operators,
                                steps[s].kind == Step::Kind::Library ? steps[s].symbol : "",
                                notes[s], steps[s].engine,
                                summarize(std::move(stepTimes[s])).median, predicted[s],
                                bytesOf(steps[s]), steps[s].cost.operations.evaluate(sizes)});
  }

  // The same of the programs, and of the nodes on the host between them.
  void profileSteps() {
    double calls = 1e6 * options.seconds / 4 / std::max(ours.times.median, 1.0);
    for (const ProfiledStep &step :
         model->profileSteps(inputs, static_cast<int>(std::clamp(calls, 1.0, 1000.0)))) {
      std::string notes = step.isBetween ? "between programs" : "";
      if (step.runs != 1)
        notes += fmt::format("{}{} times", notes.empty() ? "" : ", ", step.runs);
      result.kernels.push_back({step.name, step.operators, step.routine, notes, step.engine,
                                step.microseconds, step.predicted, step.bytes, step.operations});
    }
  }

  const BenchOptions &options;
  std::shared_ptr<Model> model;
  std::shared_ptr<const Executable> executable; // null for a split model
  std::vector<RuntimeValue> inputs, outputs;
  std::vector<Tensor> timedInputs;
  std::vector<int64_t> sizes;
  std::vector<double> times;
  std::optional<Direct> direct;
  std::list<Contestant> contestants;
  SystemResult ours;
  BenchResult result;
};

} // namespace

void addBenchCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<BenchOptions>();
  options->inputs.seed = 0;
  CLI::App *command = app.add_subcommand("bench", "Time a model, alone or against other systems");
  addModelOptions(*command, options->model);
  addThreadsOption(*command, options->model);
  addInputOptions(*command, options->inputs);
  command
      ->add_option("--against", options->against,
                   fmt::format("Time a baseline in the same run, in turns: {} (repeatable; needs\n"
                               "python3 with that package)",
                               fmt::join(Peer::names(), " or ")))
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(oneOf(Peer::names()));
  command->add_option("--seconds", options->seconds, "Time to measure each system")
      ->type_name("S")
      ->check(inRange(0.001, 86400.0))
      ->capture_default_str();
  command->add_option("--rounds", options->rounds, "Turns of each system in that time")
      ->type_name("N")
      ->check(inRange(1, 1000000))
      ->capture_default_str();
  command->add_flag("--profile", options->profile,
                    "Show time, predicted time, bytes and operations of every kernel");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n"
                  "  headrace bench examples/digits/digits.onnx --size batch=64 --profile\n"
                  "  headrace bench model.onnx --against onnxruntime --threads 1\n"
                  "  headrace bench model.onnx --json --seconds 5 > result.json\n"
                  "  headrace bench model.onnx --accelerator machine.json");
  command->callback([options, &action] {
    action = [options] {
      BenchResult result = Benchmark(*options).run();
      options->json ? printJson(result) : printTables(result);
      return 0;
    };
  });
}

} // namespace headrace::cli
