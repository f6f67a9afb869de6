// headrace run: computes a model's outputs, shows them, writes them, compares them.
#include "package/Package.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "commands/RunScript.h"
#include "report/Text.h"
#include "tensors/Expectations.h"
#include "tensors/OutputFiles.h"
#include "tensors/PrintTensor.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

struct RunOptions {
  ModelOptions model;
  ScriptOptions script;
  InputOptions inputs;
  std::string outputFolder;
  std::vector<std::string> expected;
  Tolerance tolerance;
  bool reference = false;
};

std::vector<Tensor> computeOutputs(Model &model, std::span<const Tensor> inputs, bool reference) {
  if (reference) {
    Progress progress("evaluating " + model.name());
    return model.reference(inputs);
  }
  compileModel(model, inputs);
  Progress progress("running " + model.name());
  return model.run(inputs);
}

// "words[1]: string 3" and the values below; nothing is left out of a sequence.
void printValue(const std::string &name, const RuntimeValue &value) {
  std::string title = styled(stdout, Style::Bold, printable(name));
  if (const Tensor *tensor = value.tensor()) {
    fmt::print("{}: {}\n{}\n", title, typeText(*tensor), valuesText(*tensor));
  } else if (const StringTensor *strings = value.strings()) {
    fmt::print("{}: string {}\n", title, shapeString(strings->shape));
    for (const std::string &text : strings->elements)
      fmt::print("  {}\n", printable(text));
  } else if (const std::vector<RuntimeValue> *elements = value.sequence()) {
    fmt::print("{}: {}\n", title, describe(value));
    for (size_t i = 0; i < elements->size(); ++i)
      printValue(fmt::format("{}[{}]", name, i), (*elements)[i]);
  } else if (const MapValue *map = value.map()) {
    fmt::print("{}: {}\n", title, describe(value));
    printValue(name + " keys", map->keys);
    printValue(name + " values", map->values);
  } else {
    fmt::print("{}: nothing\n", title);
  }
}

std::vector<RuntimeValue> computeValues(Model &model, std::span<const RuntimeValue> inputs,
                                        bool reference) {
  Progress progress((reference ? "evaluating " : "running ") + model.name());
  return reference ? model.referenceValues(inputs) : model.runValues(inputs);
}

int runStages(Model &model, const RunOptions &options) {
  std::vector<RuntimeValue> inputs = gatherValues(model, options.inputs);
  std::vector<RuntimeValue> outputs = computeValues(model, inputs, options.reference);
  std::vector<Tensor> tensors;
  for (size_t i = 0; i < outputs.size(); ++i) {
    printValue(model.outputs()[i].name, outputs[i]);
    if (outputs[i].tensor())
      tensors.push_back(*outputs[i].tensor());
  }
  bool wantsTensors = !options.outputFolder.empty() || !options.expected.empty();
  if (wantsTensors && tensors.size() != outputs.size())
    throw Error(ErrorKind::Unsupported,
                "--output and --expect: expected numeric tensors as outputs, got others");
  if (!options.outputFolder.empty())
    for (const auto &path : writeOutputs(options.outputFolder, model.outputs(), tensors))
      fmt::print("wrote {}\n", path.string());
  checkExpectations(model, readExpectations(model, options.expected), tensors, options.tolerance);
  return 0;
}

int runProgram(const RunOptions &options, const CLI::App &command) {
  if (isScript(options.model.path)) {
    refuseModelOptions(command, options.model.path);
    useThreads(options.model);
    return runScript(options.model.path, options.model.settings, options.script,
                     options.inputs.texts, options.outputFolder);
  }
  std::shared_ptr<const Package> package;
  if (Package::isNamedLikeOne(options.model.path)) {
    package = Package::open(options.model.path);
    if (auto script = package->script(options.model.settings.program)) {
      refuseModelOptions(command, options.model.path);
      useThreads(options.model);
      return runPackagedScript(std::move(script), options.script, options.inputs.texts,
                               options.outputFolder);
    }
  }
  refuseScriptOptions(command, options.model.path);
  std::shared_ptr<Model> model = loadModel(options.model, package.get());
  if (model->isSplit())
    return runStages(*model, options);
  std::vector<Expectation> expectations = readExpectations(*model, options.expected);
  std::vector<Tensor> inputs = gatherInputs(*model, options.inputs);
  std::vector<Tensor> outputs = computeOutputs(*model, inputs, options.reference);

  for (size_t i = 0; i < outputs.size(); ++i)
    fmt::print("{}: {}\n{}\n", styled(stdout, Style::Bold, printable(model->outputs()[i].name)),
               typeText(outputs[i]), valuesText(outputs[i]));
  if (!options.outputFolder.empty())
    for (const auto &path : writeOutputs(options.outputFolder, model->outputs(), outputs))
      fmt::print("wrote {}\n", path.string());
  checkExpectations(*model, expectations, outputs, options.tolerance);
  return 0;
}

} // namespace

void addRunCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run a model or a script and show its outputs");
  addModelOptions(*command, options->model);
  addThreadsOption(*command, options->model);
  addInputOptions(*command, options->inputs);
  addScriptOptions(*command, options->script);
  command->add_option("--output", options->outputFolder, "Write the outputs as .npy files here")
      ->type_name("DIR");
  command
      ->add_option(
          "--expect", options->expected,
          "Compare the outputs with .npy files: one file per output in order, a directory\n"
          "as --output writes it, or by name (repeatable)")
      ->type_name("[NAME=]FILE|DIR")
      ->allow_extra_args(false);
  command->add_option("--rtol", options->tolerance.relative, "Relative error that --expect allows")
      ->type_name("X")
      ->check(inRange(0.0))
      ->capture_default_str();
  command->add_option("--atol", options->tolerance.absolute, "Absolute error that --expect allows")
      ->type_name("X")
      ->check(inRange(0.0))
      ->capture_default_str();
  command->add_flag("--reference", options->reference,
                    "Evaluate operator by operator in double precision instead of compiling");
  command->footer("Examples:\n"
                  "  headrace run examples/digits/digits.onnx --random 0 --size batch=2\n"
                  "  headrace run model.onnx --input image=@cat.npy --output out\n"
                  "  headrace run model.onnx --input @cat.npy --expect out --rtol 1e-3\n"
                  "  headrace run examples/scripts/pagerank.dml -nvargs n=1000 -stats");
  command->callback([options, command, &action] {
    action = [options, command] { return runProgram(*options, *command); };
  });
}

} // namespace headrace::cli
