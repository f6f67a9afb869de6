// Scripts as users run them: from a file or a text, with arguments and variables, again and again.
#pragma once

#include "script/host/Value.h"
#include "script/language/Analysis.h"
#include "script/plan/ScriptSettings.h"
#include "script/plan/Statistics.h"
#include <filesystem>
#include <map>

namespace headrace::script {

struct ScriptOptions {
  ScriptSettings settings;
  /// Directories with files NAME.dml of functions that need no source(...).
  std::vector<std::filesystem::path> scriptPath;
  /// The variables that a run returns; all that it leaves if there are none.
  std::vector<std::string> results;
  /// Instead of the disk, if there are any: see AnalysisOptions.
  std::shared_ptr<const ScriptFiles> files;
  /// Where print goes; standard output if empty.
  std::function<void(const std::string &)> print;
  /// The directory that relative names in read and write start from; the process's own if empty.
  std::filesystem::path folder;
  /// Unseeded random matrices are numbered from here on.
  int64_t firstSeed = 1;
  /// A run to learn from: write(...) does nothing.
  bool isTrial = false;
  /// Takes what write(...) would put into a file, instead of it; may be empty.
  std::function<void(const std::filesystem::path &, const Value &)> takeWritten = {};
};

/// HEADRACE_SCRIPT_PATH, split at colons.
std::vector<std::filesystem::path> defaultScriptPath();

class ScriptSession {
public:
  /// Parses the text. Throws Error with the place of the first mistake.
  ScriptSession(std::string name, std::string text, ScriptOptions options);
  /// A script that `make` gives as a syntax tree; called once for every set of types of inputs.
  ScriptSession(std::function<Script()> make, ScriptOptions options);
  static std::unique_ptr<ScriptSession> load(const std::filesystem::path &path,
                                             ScriptOptions options);
  ~ScriptSession();

  using Variables = std::map<std::string, Value>;

  /// Runs the script with `$name` arguments and with variables that exist from the start; returns
  /// all variables of the script at its end. Plans and code are kept for the next run.
  Variables run(const Variables &inputs = {},
                const std::map<std::string, std::string> &arguments = {});

  /// The statistics of the last run.
  const Statistics &statistics() const;

  /// The files of the last run: the script, what it sourced and what its script path gave it.
  std::vector<std::shared_ptr<const Source>> sources() const;

  /// Graphs with the sizes known before the run: -explain hops.
  std::string graphsBeforeRun(const Variables &inputs,
                              const std::map<std::string, std::string> &arguments);

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace headrace::script
