// headrace quantize: a float model and some data to a model in int8.
#include "frontend/onnx/read/OnnxReader.h"
#include "frontend/onnx/write/OnnxWriter.h"
#include "runtime/tensor/Npy.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "quantize/Quantize.h"
#include "report/QuantizeReport.h"
#include "terminal/Console.h"
#include "terminal/Interrupt.h"
#include <CLI/Option.hpp>
#include <fmt/format.h>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;

struct QuantizeOptions {
  ModelOptions model; // its path and threads
  std::vector<std::string> calibration;
  std::string output;
  bool json = false;
  std::vector<std::string> keptFloat;
  quantize::Options choices;
};

// "[NAME=][@]FILE.npy", by name or in the model's order. Names may contain equals signs.
quantize::GivenSamples readSamples(const onnx::Graph &graph,
                                   const std::vector<std::string> &texts) {
  quantize::GivenSamples given;
  for (const std::string &text : texts) {
    std::string name;
    for (const std::string &input : quantize::inputNames(graph))
      if (text.starts_with(input + "=") && input.size() > name.size())
        name = input;
    size_t cut = name.empty() ? 0 : name.size() + 1;
    // A name that the model does not have is told by the "@" after it.
    if (size_t at = text.find("=@"); name.empty() && at != std::string::npos) {
      name = text.substr(0, at);
      cut = at + 1;
    }
    if (text.substr(cut).starts_with('@'))
      ++cut;
    given.emplace_back(name, readNpy(text.substr(cut)));
  }
  return given;
}

fs::path outputPath(const QuantizeOptions &options) {
  if (!options.output.empty())
    return options.output;
  fs::path model(options.model.path);
  return fs::path(model.stem().string() + ".int8.onnx");
}

int quantizeModel(QuantizeOptions options) {
  if (options.model.path.empty())
    throw UsageError("expected a model: the path of an ONNX file");
  if (options.calibration.empty())
    throw UsageError("expected samples of the model's inputs: --calibrate FILE.npy");
  useThreads(options.model);
  options.choices.keptFloat = {options.keptFloat.begin(), options.keptFloat.end()};
  fs::path path = outputPath(options);
  std::string name = fs::path(options.model.path).filename().string();
  onnx::Model model = onnx::readModel(options.model.path);
  quantize::GivenSamples samples = readSamples(model.graph, options.calibration);
  quantize::Result result;
  {
    Progress progress("quantizing " + name);
    result = quantize::quantize(std::move(model), name, samples, options.choices);
  }
  {
    Uninterrupted guard;
    onnx::writeModel(result.model, path);
  }
  if (options.json)
    fmt::print("{}\n", quantize::reportJson(result.report));
  else
    printTables(result.report, path);
  return 0;
}

} // namespace

void addQuantizeCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<QuantizeOptions>();
  CLI::App *command = app.add_subcommand(
      "quantize", "Quantize a float model to int8 after training, by samples of its inputs");
  command->add_option("MODEL", options->model.path, "An ONNX file")->type_name("");
  command
      ->add_option(
          "--calibrate", options->calibration,
          "Calibration samples of an input, stacked along the first dimension\n"
          "(repeatable; without NAME= in the model's order): images.npy, image=@images.npy")
      ->type_name("[NAME=][@]FILE.npy")
      ->allow_extra_args(false);
  command
      ->add_option("-o,--output", options->output, "The model to write [MODEL's name, .int8.onnx]")
      ->type_name("FILE");
  command
      ->add_option("--weights", options->choices.weights,
                   "Scales of weights: one for each output channel (channel) or one (tensor)\n"
                   "[channel]")
      ->type_name("KIND")
      ->transform(oneOf(quantize::weightChoices()));
  command
      ->add_option("--scales", options->choices.scales,
                   "Scales: any value (float), or powers of two (po2), so that requantization\n"
                   "is a shift [float]")
      ->type_name("KIND")
      ->transform(oneOf(quantize::scaleChoices()));
  command
      ->add_option("--ranges", options->choices.ranges,
                   "How far activations reach before they are clipped: as far as in the samples\n"
                   "(minmax), as --percentile of them (percentile), or where the squared error is\n"
                   "least (mse) [mse]")
      ->type_name("METHOD")
      ->transform(oneOf(quantize::rangeChoices()));
  command
      ->add_option("--percentile", options->choices.percentile,
                   "Per cent of the values that --ranges percentile does not clip")
      ->type_name("X")
      ->check(inRange(50.0, 100.0))
      ->capture_default_str();
  command
      ->add_option("--float", options->keptFloat,
                   "A node that stays float, by its name (repeatable)")
      ->type_name("NODE")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "Print the report as JSON");
  addThreadsOption(*command, options->model);
  command->footer(
      "Examples:\n"
      "  headrace quantize examples/digits/digits.onnx --calibrate images.npy -o q.onnx\n"
      "  headrace quantize model.onnx --calibrate x=@x.npy --calibrate y=@y.npy\n"
      "  headrace quantize model.onnx --calibrate x.npy --scales po2 --weights tensor\n"
      "  headrace run q.onnx --input @images.npy");
  command->callback([options, &action] { action = [options] { return quantizeModel(*options); }; });
}

} // namespace headrace::cli
