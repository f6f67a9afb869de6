// headrace verify: compares what a compiled program computes with the reference evaluation.
#include "driver/programs/SegmentCompiler.h"
#include "package/Package.h"
#include "runtime/system/Error.h"
#include "runtime/system/ThreadPool.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "commands/RunScript.h"
#include "peer/Peer.h"
#include "script/ScriptSession.h"
#include "terminal/Console.h"
#include "verify/Save.h"
#include "verify/ScriptVerification.h"
#include "verify/Verify.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace headrace::cli {

namespace {

struct VerifyOptions {
  ModelOptions model;
  InputOptions inputs;
  ScriptArguments script;
  std::string source; // the model of a package
  std::vector<std::string> against;
  std::string saved;
  bool special = false;
  bool outputsOnly = false;
  bool bisect = false;
  bool json = false;
};

int print(const verify::Report &report, bool asJson) {
  fmt::print("{}", asJson ? verify::jsonText(report) + "\n" : verify::text(report));
  return report.holds() ? 0 : 1;
}

int verifyScriptFile(const VerifyOptions &options, const CLI::App &command) {
  const std::string &path = options.model.path;
  for (const char *name : {"--random", "--size", "--model", "--against", "--save", "--special",
                           "--outputs-only", "--bisect", "--recipe"})
    if (const CLI::Option *option = command.get_option(name); option->count() > 0)
      throw UsageError(fmt::format("{}: expected a model for this option, got the script {}",
                                   option->get_name(), path));
  useThreads(options.model);
  verify::ScriptRun run;
  run.name = std::filesystem::path(path).filename().string();
  run.open = [&](script::ScriptOptions session) {
    return script::ScriptSession::load(path, std::move(session));
  };
  run.options.settings.code = script::makeSegmentCompiler(options.model.settings);
  run.options.scriptPath = options.script.folders();
  run.inputs = parseVariables(options.inputs.texts);
  run.arguments = options.script.values();
  try {
    Progress progress("verifying " + run.name);
    verify::Report report = verify::verifyScript(run);
    clearStatus();
    return print(report, options.json);
  } catch (const Error &error) {
    throw ScriptError(error.what());
  }
}

// The systems that compute the same, each in a process of its own.
std::vector<verify::Peer> peersOf(const VerifyOptions &options, const std::string &path,
                                  const Model &model) {
  std::vector<verify::Peer> peers;
  for (const std::string &name : options.against) {
    auto run = [&model, name, path](const std::vector<Tensor> &inputs) {
      try {
        Peer peer(name, path, model.inputs(), inputs, ThreadPool::global().threads());
        return verify::PeerAnswer{peer.version(), peer.outputs()};
      } catch (const PeerError &error) {
        throw Error(ErrorKind::Unsupported, error.what());
      }
    };
    peers.push_back({name, run});
  }
  return peers;
}

class ModelVerification {
public:
  explicit ModelVerification(const VerifyOptions &options) : options(options) {}

  int run() {
    load();
    verify::Options made;
    made.inputs = inputs();
    made.seed = options.inputs.seed.value_or(0);
    made.sizes = parseSizes(options.inputs.sizes, model->symbols());
    made.hasSpecialValues = options.special;
    made.comparesSteps = !options.outputsOnly;
    made.peers = peersOf(options, source.path, *model);
    made.settings = source.settings;
    if (!source.recipe.empty())
      made.settings.recipe = readText(source.recipe);
    if (options.bisect)
      made.bisected = source.path;
    made.progress = [](const std::string &what) { showStatus(what); };
    verify::Report report = verify::verifyModel(*model, package.get(), made);
    if (!options.saved.empty() && !report.holds()) {
      showStatus("reducing " + model->name());
      verify::saveDifference(report, *model, source.path, made, options.saved);
    }
    clearStatus();
    return print(report, options.json);
  }

private:
  void load() {
    source = options.model;
    bool isPackage = Package::isNamedLikeOne(options.model.path);
    if (isPackage != !options.source.empty())
      throw UsageError(isPackage ? "--model: expected the model of the package, which holds "
                                   "compiled code only"
                                 : "--model: expected a package to compare with a model, got " +
                                       options.model.path);
    if (isPackage) {
      if (!options.saved.empty())
        throw UsageError("--save: expected a model to reduce, got a package");
      package = loadModel(options.model);
      source.path = options.source;
      source.settings.program.clear();
    } else {
      saved = verify::savedInputs(source.path);
      source.settings.givenInputs = saved.names;
    }
    model = loadModel(source);
  }

  std::vector<RuntimeValue> inputs() const {
    if (!options.inputs.texts.empty()) {
      InputOptions given = options.inputs;
      given.seed = given.seed.value_or(0);
      return gatherValues(*model, given);
    }
    if (saved.names.size() != model->inputs().size())
      return {};
    std::vector<RuntimeValue> values;
    for (const TensorSpec &spec : model->inputs())
      for (size_t i = 0; i < saved.names.size(); ++i)
        if (saved.names[i] == spec.name)
          values.push_back(saved.values[i]);
    return values;
  }

  const VerifyOptions &options;
  ModelOptions source; // of the model that the reference evaluates
  verify::SavedInputs saved;
  std::shared_ptr<Model> model, package;
};

} // namespace

void addVerifyCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App *command = app.add_subcommand(
      "verify", "Compare a program with the reference evaluation, kernel by kernel");
  addModelOptions(*command, options->model);
  addThreadsOption(*command, options->model);
  addInputOptions(*command, options->inputs);
  addScriptArguments(*command, options->script);
  command->add_option("--model", options->source, "The ONNX file that a package was compiled from")
      ->type_name("FILE");
  command
      ->add_option("--against", options->against,
                   fmt::format("Also compare the outputs of another system: {} (repeatable;\n"
                               "needs python3 with that package)",
                               fmt::join(Peer::names(), " or ")))
      ->type_name("NAME")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(oneOf(Peer::names()));
  command
      ->add_option("--save", options->saved,
                   "Write the part of the model that differs, with its inputs, as an ONNX file")
      ->type_name("FILE");
  command->add_flag("--special", options->special, "Add a case with NaN and infinities");
  command->add_flag("--outputs-only", options->outputsOnly,
                    "Do not compare values inside of the program");
  command->add_flag("--bisect", options->bisect, "Name the first pass that changes the result");
  command->add_flag("--json", options->json, "Print JSON");
  command->footer("Examples:\n"
                  "  headrace verify examples/digits/digits.onnx\n"
                  "  headrace verify model.onnx --input image=@cat.npy --against onnxruntime\n"
                  "  headrace verify model.onnx --size batch=4 --save difference.onnx\n"
                  "  headrace verify digits.hrpkg --model examples/digits/digits.onnx\n"
                  "  headrace verify examples/scripts/pagerank.dml -nvargs n=100\n"
                  "Exit code 0: all agree; 1: a difference, or nothing could be compared.");
  command->callback([options, command, &action] {
    action = [options, command] {
      if (isScript(options->model.path))
        return verifyScriptFile(*options, *command);
      return ModelVerification(*options).run();
    };
  });
}

} // namespace headrace::cli
