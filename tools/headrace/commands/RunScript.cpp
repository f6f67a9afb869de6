#include "commands/RunScript.h"

#include "driver/programs/SegmentCompiler.h"
#include "runtime/matrix/MatrixFile.h"
#include "runtime/tensor/Npy.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "script/PackagedScript.h"
#include "tensors/OutputFiles.h"
#include "terminal/Console.h"
#include <CLI/Option.hpp>
#include <charconv>
#include <fmt/format.h>

namespace headrace::cli {

void addScriptArguments(CLI::App &command, ScriptArguments &arguments) {
  command.add_option("--nvargs", arguments.byName, "Arguments by name: $X in the script")
      ->type_name("NAME=VALUE ...")
      ->group(scriptGroup);
  command.add_option("--args", arguments.byPosition, "Arguments by position: $1, $2, ...")
      ->type_name("VALUE ...")
      ->group(scriptGroup);
  command
      .add_option("--script-path", arguments.scriptPath,
                  "Directories of function scripts; also HEADRACE_SCRIPT_PATH")
      ->type_name("DIR ...")
      ->group(scriptGroup);
}

void addScriptOptions(CLI::App &command, ScriptOptions &options) {
  addScriptArguments(command, options.arguments);
  command
      .add_option("--explain", options.explain,
                  "Show the blocks' operations with their sizes (hops), the kernels they\n"
                  "became (runtime), or also how these were planned (codegen)")
      ->type_name("hops|runtime|codegen")
      ->check(oneOf({"hops", "runtime", "codegen"}))
      ->group(scriptGroup);
  command
      .add_option("--stats", options.statistics,
                  "Show compilations and time per operator, of the N slowest ones")
      ->type_name("N")
      ->expected(0, 1)
      ->default_str("0")
      ->group(scriptGroup);
  command.add_option("--script", options.text, "The script itself (-s)")
      ->type_name("TEXT")
      ->group(scriptGroup);
  command.add_option("--seed", options.seed, "Seed of random matrices that have none of their own")
      ->type_name("N")
      ->group(scriptGroup);
  command.add_option("--exec", options.execution, "Where to run, for SystemDS: this process")
      ->type_name("singlenode|hybrid")
      ->check(oneOf({"singlenode", "hybrid"}))
      ->group(scriptGroup);
  command.add_flag("--debug", options.debug, "Accepted, without effect")->group(scriptGroup);
  command
      .add_option("--compile", options.compile,
                  "Compile blocks when it pays (auto), wherever possible (always), or never")
      ->type_name("auto|always|never")
      ->check(oneOf({"auto", "always", "never"}))
      ->capture_default_str()
      ->group(scriptGroup);
}

void refuseScriptOptions(const CLI::App &command, const std::string &model) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_group() == scriptGroup && option->count() > 0)
      throw UsageError(fmt::format("{}: expected a script (.dml) for this option, got {}",
                                   option->get_name(), model));
}

void refuseModelOptions(const CLI::App &command, const std::string &script) {
  for (const char *name : {"--random", "--size", "--expect", "--reference", "--recipe"})
    if (const CLI::Option *option = command.get_option(name); option->count() > 0)
      throw UsageError(fmt::format("{}: expected a model for this option, got the script {}",
                                   option->get_name(), script));
}

bool isScript(const std::string &path) { return path.ends_with(".dml"); }

/// The name without SystemDS's single dash or this command line's two; empty for another word.
static std::string optionName(const std::string &word) {
  for (const char *name : {"nvargs", "args", "explain", "stats", "seed", "exec", "debug", "f", "s"})
    if (word == std::string("-") + name || word == std::string("--") + name)
      return name;
  return "";
}

static std::string explanationNamed(const std::string &word) {
  if (word == "recompile_hops")
    return "hops";
  if (word == "recompile_runtime")
    return "runtime";
  return word == "codegen_recompile" ? "codegen" : word;
}

static bool isCount(const std::string &word) {
  return !word.empty() && word.find_first_not_of("0123456789") == word.npos;
}

std::vector<std::string> withLongDashes(int argc, char **argv) {
  std::vector<std::string> given(argv + 1, argv + argc), words;
  bool inFront = !given.empty() && (optionName(given[0]) == "f" || optionName(given[0]) == "s");
  bool runs = inFront || (!given.empty() && given[0] == "run");
  if (inFront)
    words.push_back("run");
  for (size_t i = 0; i < given.size(); ++i) {
    std::string name = optionName(given[i]), next = i + 1 < given.size() ? given[i + 1] : "";
    if (name.empty()) {
      words.push_back(given[i]);
    } else if (!runs) {
      words.push_back(name.size() > 1 ? "--" + name : given[i]);
    } else if (name == "f") {
      continue; // the file is the next word
    } else if (name == "s") {
      words.insert(words.end(), {"script.dml", "--script", next});
      ++i;
    } else if (name == "explain") {
      std::string what = explanationNamed(next);
      bool known = what == "hops" || what == "runtime" || what == "codegen";
      bool isValue = known || (!next.empty() && given[i].starts_with("--"));
      words.insert(words.end(), {"--explain", isValue ? what : "runtime"});
      i += isValue;
    } else if (name == "stats") {
      words.push_back("--stats=" + (isCount(next) ? next : "0"));
      i += isCount(next);
    } else {
      words.push_back("--" + name);
    }
  }
  return words;
}

std::map<std::string, std::string> ScriptArguments::values() const {
  std::map<std::string, std::string> values;
  for (size_t i = 0; i < byPosition.size(); ++i)
    values[std::to_string(i + 1)] = byPosition[i];
  for (const std::string &text : byName) {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw UsageError(fmt::format("-nvargs: expected NAME=VALUE, got '{}'", text));
    values[text.substr(0, at)] = text.substr(at + 1);
  }
  return values;
}

std::vector<std::filesystem::path> ScriptArguments::folders() const {
  std::vector<std::filesystem::path> folders(scriptPath.begin(), scriptPath.end());
  for (const std::filesystem::path &folder : script::defaultScriptPath())
    folders.push_back(folder);
  return folders;
}

static script::Value parseVariable(const std::string &text, const std::string &option) {
  if (text.starts_with('@')) {
    std::string path = text.substr(1);
    if (!path.ends_with(".npy"))
      return readMatrix(path);
    Tensor tensor = readNpy(path).converted(DType::F64);
    size_t rank = tensor.shape().size();
    if (rank != 1 && rank != 2)
      throw Error(ErrorKind::InvalidArgument,
                  fmt::format("{}: expected a matrix, got {}", path, shapeString(tensor.shape())));
    return rank == 1 ? tensor.reshaped({tensor.elements(), 1}) : tensor;
  }
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size())
    throw UsageError(fmt::format("--input {}: expected NAME=@FILE or NAME=NUMBER", option));
  return value;
}

std::map<std::string, script::Value> parseVariables(std::span<const std::string> texts) {
  std::map<std::string, script::Value> variables;
  for (const std::string &text : texts) {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw UsageError(fmt::format("--input {}: expected NAME=@FILE or NAME=NUMBER", text));
    variables[text.substr(0, at)] = parseVariable(text.substr(at + 1), text);
  }
  return variables;
}

static script::ScriptOptions sessionOptions(const ScriptOptions &options) {
  script::ScriptOptions session;
  session.settings.compile = options.compile == "always"  ? script::CompileWhen::Always
                             : options.compile == "never" ? script::CompileWhen::Never
                                                          : script::CompileWhen::Worthwhile;
  session.settings.explainGraphs = options.explain == "hops";
  session.settings.explainPlanning = options.explain == "codegen";
  session.settings.explainRuntime =
      options.explain == "runtime" || session.settings.explainPlanning;
  session.firstSeed = options.seed;
  session.settings.explain = [](const std::string &text) { fmt::print("{}", text); };
  session.print = [](const std::string &text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  return session;
}

// The script's variables as .npy files; numbers have rank 0.
static void writeVariables(const std::string &folder,
                           const script::ScriptSession::Variables &variables) {
  std::vector<TensorSpec> specs;
  std::vector<Tensor> tensors;
  for (const auto &[name, value] : variables) {
    if (value.matrix()) {
      tensors.push_back(value.dense(name.c_str()));
    } else if (value.isNumber()) {
      tensors.push_back(Tensor::allocate(DType::F64, {}));
      *tensors.back().as<double>() = value.number(name.c_str());
    } else {
      continue;
    }
    specs.push_back({name, DType::F64, {}});
  }
  for (const auto &path : writeOutputs(folder, specs, tensors))
    fmt::print("wrote {}\n", path.string());
}

static int runSession(script::ScriptSession &script, const ScriptOptions &options,
                      const script::ScriptSession::Variables &inputs,
                      const std::string &outputFolder,
                      std::span<const ScriptVariable> declaredOutputs) {
  std::map<std::string, std::string> arguments = options.arguments.values();
  if (options.explain == "hops")
    fmt::print("# before the run\n{}# at run time\n", script.graphsBeforeRun(inputs, arguments));
  script::ScriptSession::Variables left = script.run(inputs, arguments);
  for (const auto &[name, value] : inputs)
    left.erase(name);
  if (!declaredOutputs.empty())
    std::erase_if(left, [&](const auto &entry) {
      return std::ranges::none_of(declaredOutputs, [&](const ScriptVariable &variable) {
        return variable.name == entry.first;
      });
    });
  if (!outputFolder.empty())
    writeVariables(outputFolder, left);
  if (options.statistics)
    fmt::print("{}", script::print(script.statistics(),
                                   *options.statistics > 0 ? *options.statistics : SIZE_MAX));
  return 0;
}

int runScript(const std::string &path, const Settings &settings, const ScriptOptions &options,
              std::span<const std::string> inputs, const std::string &outputFolder) {
  script::ScriptOptions session = sessionOptions(options);
  session.settings.code = script::makeSegmentCompiler(settings);
  session.scriptPath = options.arguments.folders();
  auto variables = parseVariables(inputs);
  try {
    auto script =
        options.text.empty()
            ? script::ScriptSession::load(path, std::move(session))
            : std::make_unique<script::ScriptSession>("script", options.text, std::move(session));
    return runSession(*script, options, variables, outputFolder, {});
  } catch (const Error &error) {
    throw ScriptError(error.what());
  }
}

int runPackagedScript(std::shared_ptr<const PackageScript> script, const ScriptOptions &options,
                      std::span<const std::string> inputs, const std::string &outputFolder) {
  auto variables = parseVariables(inputs);
  for (const ScriptVariable &input : script->inputs())
    if (!variables.contains(input.name))
      throw Error(ErrorKind::MissingInput,
                  fmt::format("script '{}': expected --input {}={}", script->name(), input.name,
                              input.isMatrix ? "@FILE" : "NUMBER"));
  try {
    auto session = script::openScript(script, sessionOptions(options));
    return runSession(*session, options, variables, outputFolder, script->outputs());
  } catch (const Error &error) {
    throw ScriptError(error.what());
  }
}

} // namespace headrace::cli
