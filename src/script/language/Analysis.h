#pragma once

#include "script/language/Program.h"
#include <filesystem>
#include <map>

namespace headrace::script {

/// Files that are not on the disk, by their names: all that a script can reach.
using ScriptFiles = std::map<std::filesystem::path, std::string>;

/// Arguments and settings of a script's analysis.
struct AnalysisOptions {
  /// `$name` and `$1`, as text: TRUE, 12, 0.5 and "quoted" have their types, the rest is a string.
  std::map<std::string, std::string> parameters;
  /// Variables that exist before the first statement.
  std::map<std::string, Type> inputs;
  /// Variables that are read after the last statement; with `keepAll`, every one is.
  std::vector<std::string> outputs;
  bool keepAll = false;
  /// Directories with files NAME.dml, or builtin/NAME.dml, that define `m_NAME` (of a matrix),
  /// `f_NAME` (of a frame), `s_NAME` (of a scalar) or `NAME`: functions that need no source(...).
  std::vector<std::filesystem::path> scriptPath;
  /// If there are any, nothing is read from the disk.
  std::shared_ptr<const ScriptFiles> files;
  /// Whether functions of the script that nothing calls are checked too.
  bool allFunctions = false;
};

/// Resolves, checks and splits a script. Loads what it sources and the functions it calls from the
/// script path; both stay within the script's directory and the script path. Throws an Error with
/// the place of the first mistake: unknown functions, wrong arguments, parameters that are not
/// given, variables that no path to their use defines. A variable that only some paths define is
/// left to the run.
Program analyze(Script script, const AnalysisOptions &options = {});

} // namespace headrace::script
