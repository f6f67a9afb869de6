// headrace run script.dml: the arguments of a script on the command line.
#pragma once

#include "driver/Settings.h"
#include "package/Package.h"

#include "script/host/Value.h"
#include <CLI/App.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace headrace::cli {

/// Arguments of a script on the command line.
struct ScriptArguments {
  std::vector<std::string> byPosition, byName, scriptPath;

  /// `$name`s and their values.
  std::map<std::string, std::string> values() const;
  /// Directories given, then those of the environment.
  std::vector<std::filesystem::path> folders() const;
};

struct ScriptOptions {
  ScriptArguments arguments;
  std::string text; ///< of the script, if it is not in a file
  std::string explain, compile = "auto", execution = "singlenode";
  std::optional<size_t> statistics; ///< how many operators are shown; 0 for all
  int64_t seed = 1;
  bool debug = false;
};

/// The group of options that only scripts have.
inline constexpr const char *scriptGroup = "Scripts (.dml)";

void addScriptArguments(CLI::App &command, ScriptArguments &arguments);
void addScriptOptions(CLI::App &command, ScriptOptions &options);

/// Variables a script starts from, of texts NAME=VALUE: a number, or @FILE with a matrix.
std::map<std::string, script::Value> parseVariables(std::span<const std::string> texts);

/// Throws UsageError if an option was given that applies only to the other kind of program.
void refuseScriptOptions(const CLI::App &command, const std::string &model);
void refuseModelOptions(const CLI::App &command, const std::string &script);

bool isScript(const std::string &path);
int runScript(const std::string &path, const Settings &settings, const ScriptOptions &options,
              std::span<const std::string> inputs, const std::string &outputFolder);
int runPackagedScript(std::shared_ptr<const PackageScript> script, const ScriptOptions &options,
                      std::span<const std::string> inputs, const std::string &outputFolder);

/// The words in this command line's own spelling: SystemDS has one dash where others have two, and
/// `-f FILE`, `-s TEXT`, a bare `-explain` and `-stats N`. "-f a.dml -stats 5" becomes
/// "run a.dml --stats=5".
std::vector<std::string> withLongDashes(int argc, char **argv);

} // namespace headrace::cli
