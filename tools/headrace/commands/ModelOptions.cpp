#include "commands/ModelOptions.h"

#include "runtime/system/Error.h"

#include "adaptive/CompileLog.h"
#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/RunScript.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

namespace headrace::cli {

void addModelOptions(CLI::App &command, ModelOptions &options) {
  command
      .add_option("MODEL", options.path,
                  "An ONNX file or a package; run and verify also take scripts\n(.dml)")
      ->type_name("");
  command
      .add_option("--program", options.settings.program,
                  "The name of the program, in a package of several")
      ->type_name("NAME");
  command
      .add_option("--target", options.settings.target,
                  "The machine to compile for: cpu, cuda, or a specific one such as\n"
                  "cpu:x86-64-v3 or cuda:sm_90a; vta or vta:CONFIG.json is the VTA accelerator,\n"
                  "coarse:FILE one that a file describes (see rewrite)")
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option("--expansion", options.settings.expansion,
                  "How matmuls, convolutions and attention are computed: " + expansionChoices())
      ->type_name("NAME")
      ->capture_default_str();
  command
      .add_option(
          "--specialize", options.settings.specialize,
          "When to specialize dynamic dimensions: auto (in the background, once calls have\n"
          "taken as long as compiling), always (before the first call) or never")
      ->type_name("WHEN")
      ->capture_default_str();
  command
      .add_option("--accelerator", options.settings.accelerator,
                  "Map the program to this accelerator's operators, then compile the result for\n"
                  "--target (see rewrite)")
      ->type_name("FILE");
  command
      .add_option("--recipe", options.recipe,
                  "A file of choices that the compiler follows, all or some (explain --recipe-out\n"
                  "writes them)")
      ->type_name("FILE");
  addTuningOption(command, options.settings.tuning);
  command
      .add_option_function<std::string>(
          "--log", [](const std::string &) { adaptive::logCompilations(); },
          "Write a line to standard error for each version that is compiled, kept, replaced\n"
          "or dropped: its sizes, cause and time")
      ->type_name("compile")
      ->check(oneOf({"compile"}));
}

void addTuningOption(CLI::App &command, std::string &tuning) {
  CLI::Option *file = command.add_option(
      "--tuning", tuning,
      "Take schedules from the results of tuning in this file, instead of those in the\n"
      "cache (see tune)");
  file->type_name("FILE");
  command
      .add_flag_callback(
          "--no-tuning", [&tuning] { tuning = "never"; },
          "Leave results of tuning aside: the compiler chooses every schedule")
      ->excludes(file);
}

void addThreadsOption(CLI::App &command, ModelOptions &options) {
  command
      .add_option("--threads", options.threads,
                  "Threads to use [HEADRACE_THREADS, or one per core]")
      ->type_name("N")
      ->check(inRange(1, 4096));
}

void addSizeOption(CLI::App &command, std::vector<std::string> &sizes) {
  command
      .add_option("--size", sizes, "The value of a dynamic dimension, as in batch=4 (repeatable)")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
}

void addInputOptions(CLI::App &command, InputOptions &options) {
  command
      .add_option("--input", options.texts,
                  "A value for an input (repeatable; without NAME= in the model's order):\n"
                  "  image=@x.npy               from a file\n"
                  "  image=1x3x224x224xf32=0.5  one value everywhere\n"
                  "  bias=4xf32=1,2,3,4         value by value\n"
                  "  words=2xstring=one,two     strings; a sequence takes one option per element")
      ->type_name("[NAME=]VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--random", options.seed, "Fill the other inputs with random values from a seed")
      ->type_name("SEED")
      ->check(inRange<uint64_t>(0));
  addSizeOption(command, options.sizes);
}

void useThreads(const ModelOptions &options) {
  // The process has one pool of threads, made at first use.
  if (options.threads > 0)
    ::setenv("HEADRACE_THREADS", std::to_string(options.threads).c_str(), 1);
}

std::string readText(const std::string &path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file)
    throw Error(ErrorKind::Io, path + ": cannot open: " + std::strerror(errno));
  return text;
}

std::shared_ptr<Model> loadModel(const ModelOptions &options, const Package *package) {
  if (options.path.empty())
    throw UsageError("expected a model: the path of an ONNX file or a package");
  if (isScript(options.path))
    throw UsageError(options.path + ": expected an ONNX file or a package, got a script; headrace "
                                    "run, explore and verify take scripts");
  useThreads(options);
  Settings settings = options.settings;
  if (!options.recipe.empty())
    settings.recipe = readText(options.recipe);
  std::string name = std::filesystem::path(options.path).filename().string();
  Progress progress("loading " + name);
  return package ? Model::load(*package, name, settings) : Model::load(options.path, settings);
}

std::shared_ptr<const Executable> compileModel(Model &model, std::span<const Tensor> inputs) {
  Progress progress("compiling " + model.name());
  return model.compile(inputs);
}

} // namespace headrace::cli
