#include "RunScript.h"

#include "driver/script/ScriptSession.h"

#include "Commands.h"
#include "Console.h"
#include <CLI/Option.hpp>
#include <CLI/Validators.hpp>
#include <fmt/format.h>

namespace headrace::cli {

void addScriptOptions(CLI::App &command, ScriptOptions &options) {
  const char *group = "Scripts (.dml)";
  command.add_option("--nvargs", options.namedArguments, "Arguments by name: $X in the script")
      ->type_name("NAME=VALUE ...")
      ->group(group);
  command.add_option("--args", options.arguments, "Arguments by position: $1, $2, ...")
      ->type_name("VALUE ...")
      ->group(group);
  command
      .add_option("--explain", options.explain,
                  "Show the blocks' operations with their sizes (hops), or the kernels they\n"
                  "became (runtime)")
      ->type_name("hops|runtime")
      ->check(CLI::Validator(CLI::IsMember({"hops", "runtime"})).description(""))
      ->group(group);
  command.add_flag("--stats", options.statistics, "Show compilations and time per operator")
      ->group(group);
  command
      .add_option("--script-path", options.scriptPath,
                  "Folders of function scripts; also HEADRACE_SCRIPT_PATH")
      ->type_name("DIR ...")
      ->group(group);
  command
      .add_option("--compile", options.compile,
                  "Compile blocks when it pays (auto), whatever can be (always), or never")
      ->type_name("auto|always|never")
      ->check(CLI::Validator(CLI::IsMember({"auto", "always", "never"})).description(""))
      ->capture_default_str()
      ->group(group);
}

bool isScript(const std::string &path) { return path.ends_with(".dml"); }

std::vector<std::string> withLongDashes(int argc, char **argv) {
  std::vector<std::string> words(argv + 1, argv + argc);
  for (std::string &word : words)
    if (word == "-nvargs" || word == "-args" || word == "-explain" || word == "-stats")
      word.insert(0, "-");
  return words;
}

static std::map<std::string, std::string> argumentsOf(const ScriptOptions &options) {
  std::map<std::string, std::string> arguments;
  for (size_t i = 0; i < options.arguments.size(); ++i)
    arguments[std::to_string(i + 1)] = options.arguments[i];
  for (const std::string &text : options.namedArguments) {
    size_t at = text.find('=');
    if (at == std::string::npos || at == 0)
      throw UsageError(fmt::format("-nvargs: expected NAME=VALUE, found '{}'", text));
    arguments[text.substr(0, at)] = text.substr(at + 1);
  }
  return arguments;
}

int runScript(const std::string &path, const Settings &settings, const ScriptOptions &options) {
  script::ScriptOptions session;
  session.settings.compiler = settings;
  session.scriptPath = script::defaultScriptPath();
  session.scriptPath.insert(session.scriptPath.begin(), options.scriptPath.begin(),
                            options.scriptPath.end());
  session.settings.compile = options.compile == "always"  ? script::CompileWhen::Always
                             : options.compile == "never" ? script::CompileWhen::Never
                                                          : script::CompileWhen::Worthwhile;
  session.settings.explainGraphs = options.explain == "hops";
  session.settings.explainRuntime = options.explain == "runtime";
  session.settings.explain = [](const std::string &text) { fmt::print("{}", text); };
  session.print = [](const std::string &text) {
    fmt::print("{}\n", text);
    std::fflush(stdout);
  };
  std::map<std::string, std::string> arguments = argumentsOf(options);
  try {
    auto script = script::ScriptSession::load(path, std::move(session));
    if (options.explain == "hops")
      fmt::print("# before the run\n{}# at run time\n", script->graphsBeforeRun({}, arguments));
    script->run({}, arguments);
    if (options.statistics)
      fmt::print("{}", script::print(script->statistics()));
  } catch (const Error &error) {
    throw ScriptError(error.what());
  }
  return 0;
}

} // namespace headrace::cli
