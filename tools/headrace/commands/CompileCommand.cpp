// headrace compile: models to a package, or to parts of a C or C++ program.
#include "driver/package/PackageCompiler.h"
#include "driver/package/PackageHeader.h"
#include "runtime/system/Error.h"
#include "runtime/vta/LinkProgram.h"

#include "commands/Checks.h"
#include "commands/Commands.h"
#include "commands/ModelOptions.h"
#include "commands/RunScript.h"
#include "report/Text.h"
#include "tensors/Inputs.h"
#include "terminal/Console.h"
#include "terminal/Interrupt.h"
#include <CLI/Option.hpp>
#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <map>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;

struct CompileOptions {
  std::vector<std::string> models;
  std::string output;
  std::vector<std::string> emitted;
  std::vector<std::string> sizes;
  std::string recipe;
  ScriptArguments arguments;
  std::vector<std::string> inputs;
  PackageSettings settings;
};

// The values of --emit.
const std::vector<std::string> kinds = {"package", "so", "static", "object", "header", "ir", "vta"};

std::vector<std::pair<std::string, int64_t>> parseFixedSizes(std::span<const std::string> options) {
  std::vector<std::pair<std::string, int64_t>> sizes;
  for (const std::string &option : options) {
    size_t equals = option.rfind('=');
    std::string name = option.substr(0, equals);
    // The model's own symbols are checked when it is known.
    sizes.emplace_back(name, *parseSizes({&option, 1}, {&name, 1})[0]);
  }
  return sizes;
}

// Where everything goes: next to the package, by its name.
class OutputPaths {
public:
  explicit OutputPaths(const CompileOptions &options)
      : base(options.output.empty() ? fs::path(options.models[0]).stem()
                                    : fs::path(options.output)) {
    if (base.extension() == ".hrpkg")
      base.replace_extension();
    if (base.filename().empty())
      throw UsageError("expected the name of a file after -o");
  }

  std::string name() const { return base.filename().string(); }
  fs::path folder() const { return base.has_parent_path() ? base.parent_path() : fs::path("."); }
  fs::path of(std::string_view prefix, std::string_view suffix) const {
    return base.parent_path() / fmt::format("{}{}{}", prefix, name(), suffix);
  }

private:
  fs::path base;
};

// What cannot be written in the end is said before anything is compiled.
void checkEmitted(const CompileOptions &options, const OutputPaths &paths) {
  auto isAsked = [&](const char *kind) { return std::ranges::count(options.emitted, kind) > 0; };
  const std::string &target = options.settings.target;
  if (isAsked("vta") && options.models.size() != 1)
    throw UsageError("expected one model for --emit=vta");
  if (isAsked("vta") && target != "vta" && !target.starts_with("vta:"))
    throw UsageError("expected --target vta or vta:CONFIG.json for --emit=vta");
  if (isAsked("so") || isAsked("static") || isAsked("object"))
    CompiledPackage::requireImages(target);
  if (fs::path folder = paths.folder(); !fs::is_directory(folder))
    throw Error(ErrorKind::Io, folder.string() + ": cannot write to this directory: it " +
                                   (fs::exists(folder) ? "is a file" : "does not exist"));
}

// The accelerator's part of the one program, for the sizes that were given.
void writeVta(const CompiledPackage &package, const fs::path &folder) {
  const PackagedVersion &version = package.contents().programs.at(0).versions.at(0);
  vta::writeProgram(vta::linkProgram(version.program, package.images(version.code)), folder);
}

fs::path writeOne(const CompiledPackage &package, const std::string &kind,
                  const OutputPaths &paths) {
  using Image = CompiledPackage::Image;
  std::string symbol = imageSymbol(paths.name());
  fs::path path;
  if (kind == "package") {
    package.writePackage(path = paths.of("", ".hrpkg"));
  } else if (kind == "so") {
    package.writeImage(path = paths.of("lib", ".so"), Image::SharedObject, symbol);
  } else if (kind == "static") {
    package.writeImage(path = paths.of("lib", ".a"), Image::StaticLibrary, symbol);
  } else if (kind == "object") {
    package.writeImage(path = paths.of("", ".o"), Image::Object, symbol);
  } else if (kind == "header") {
    writeHeader(path = paths.of("", ".h"), package.contents(), paths.name());
  } else if (kind == "vta") {
    writeVta(package, path = paths.of("", ""));
  } else {
    package.writeIr(path = paths.of("", ".mlir"));
  }
  return path;
}

// Of a file, or of all in a directory.
uintmax_t bytesOf(const fs::path &path) {
  if (!fs::is_directory(path))
    return fs::file_size(path);
  uintmax_t bytes = 0;
  for (const fs::directory_entry &entry : fs::directory_iterator(path))
    bytes += entry.is_regular_file() ? entry.file_size() : 0;
  return bytes;
}

// The first value of each input makes the first sample, the second one the second: what is missing
// is random.
std::vector<std::vector<RuntimeValue>> samplesOf(const Model &model,
                                                 std::span<const std::string> texts) {
  std::vector<InputOptions> samples;
  std::map<std::string, size_t> counts;
  for (const std::string &text : texts) {
    size_t number = counts[text.substr(0, text.find('='))]++;
    if (number == samples.size())
      samples.push_back({{}, number, {}});
    samples[number].texts.push_back(text);
  }
  std::vector<std::vector<RuntimeValue>> values;
  for (const InputOptions &sample : samples)
    values.push_back(gatherValues(model, sample));
  return values;
}

int compileModels(CompileOptions options, const CLI::App &command) {
  if (options.models.empty())
    throw UsageError("expected a model: the path of an ONNX file or a script");
  if (std::ranges::none_of(options.models, isScript))
    refuseScriptOptions(command, options.models[0]);
  OutputPaths paths(options);
  checkEmitted(options, paths);
  options.settings.sizes = parseFixedSizes(options.sizes);
  options.settings.keepsIr = std::ranges::count(options.emitted, "ir") > 0;
  if (!options.recipe.empty())
    options.settings.recipe = readText(options.recipe);
  options.settings.sample.arguments = options.arguments.values();
  options.settings.sample.scriptPath = options.arguments.folders();
  if (std::ranges::any_of(options.models, isScript))
    options.settings.sample.inputs = parseVariables(options.inputs);
  else if (!options.inputs.empty())
    options.settings.samplesOf = [inputs = options.inputs](const Model &model) {
      return samplesOf(model, inputs);
    };
  options.settings.progress = [](const std::string &what) { showStatus("compiling " + what); };
  std::vector<std::string> notes;
  options.settings.note = [&](const std::string &note) { notes.push_back(note); };
  std::vector<fs::path> models(options.models.begin(), options.models.end());
  CompiledPackage package = CompiledPackage::compile(models, options.settings);
  showStatus("linking");
  std::vector<fs::path> written;
  {
    Uninterrupted guard;
    for (const std::string &kind : options.emitted)
      written.push_back(writeOne(package, kind, paths));
  }
  clearStatus();
  for (const fs::path &path : written)
    fmt::print("wrote {} ({})\n", printable(path.string()),
               withPrefix(static_cast<double>(bytesOf(path)), "B"));
  for (const std::string &note : notes)
    fmt::print("note: {}\n", printable(note));
  return 0;
}

} // namespace

void addCompileCommand(CLI::App &app, Action &action) {
  auto options = std::make_shared<CompileOptions>();
  options->emitted = {"package"};
  CLI::App *command = app.add_subcommand(
      "compile",
      "Compile models and scripts ahead of time, to a package or into a C or C++ program");
  command
      ->add_option("MODEL", options->models,
                   "ONNX files and scripts (.dml), each a program of the package")
      ->type_name("");
  command->add_option("-o,--output", options->output, "The package [MODEL's name, .hrpkg]")
      ->type_name("FILE");
  command
      ->add_option("--target", options->settings.target,
                   "The machine: cpu, cuda or a specific one such as cuda:sm_80, vta or\n"
                   "vta:CONFIG.json, coarse:FILE (see rewrite)")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--target-cpu", options->settings.processors,
                   "CPUs to compile for; the best is chosen when the package is loaded:\n"
                   "x86-64-v2, x86-64-v3 (AVX2), x86-64-v4 (AVX-512), native")
      ->type_name("NAME,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  command
      ->add_option("--expansion", options->settings.expansion,
                   "How matmuls, convolutions and attention are computed: " + expansionChoices() +
                       "\n(then a library has to be on the machine that runs the package)")
      ->type_name("NAME")
      ->capture_default_str();
  command
      ->add_option("--accelerator", options->settings.accelerator,
                   "Map models to this accelerator's operators first (see rewrite)")
      ->type_name("FILE");
  command
      ->add_option(
          "--given", options->settings.givenInputs,
          "A parameter, buffer or initializer that each call gives, instead of the model's\n"
          "own value (repeatable): what a model changes, as a cache, comes back as new_NAME")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command
      ->add_option("--size", options->sizes,
                   "Compile for this value of a dynamic dimension only, as in batch=4 (repeatable)")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  command
      ->add_option(
          "--recipe", options->recipe,
          "A file of choices that the compiler follows, all or some (explain --recipe-out\n"
          "writes them)")
      ->type_name("FILE");
  addTuningOption(*command, options->settings.tuning);
  command
      ->add_option(
          "--emit", options->emitted,
          "Kinds of output: package; so, static or object with everything in it; header,\n"
          "its interface in C and C++; ir, the code as LLVM dialect; vta, a directory with the\n"
          "program of the accelerator (--target vta)")
      ->type_name("KIND,...")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(oneOf(kinds))
      ->capture_default_str();
  // Scripts are tried with sample data, which shows what there is to compile.
  addScriptArguments(*command, options->arguments);
  command
      ->add_option(
          "--input", options->inputs,
          "A sample (repeatable). Of a script: a variable that it starts from, an input of the\n"
          "package's program; a matrix from a file, or a number. Of a model that is split into\n"
          "several programs: an input, as run has it; several samples of different sizes make\n"
          "those sizes dynamic [random numbers of three sizes]")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      ->add_option("--result", options->settings.sample.outputs,
                   "A variable that is an output [all matrices and scalars that the script leaves]")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(scriptGroup);
  command->footer("Examples:\n"
                  "  headrace compile examples/digits/digits.onnx -o digits.hrpkg\n"
                  "  headrace run digits.hrpkg --random 0\n"
                  "  headrace compile model.onnx --target-cpu x86-64-v3 --emit=static,header\n"
                  "  headrace compile fit.dml --input X=@X.csv --input y=@y.csv --result B");
  command->callback([options, command, &action] {
    action = [options, command] { return compileModels(*options, *command); };
  });
}

} // namespace headrace::cli
