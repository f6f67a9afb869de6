// headrace run script.dml: what the command line says of a script.
#pragma once

#include "driver/Settings.h"

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace headrace::cli {

struct ScriptOptions {
  std::vector<std::string> arguments, namedArguments, scriptPath;
  std::string explain, compile = "auto";
  bool statistics = false;
};

void addScriptOptions(CLI::App &command, ScriptOptions &options);

bool isScript(const std::string &path);
int runScript(const std::string &path, const Settings &settings, const ScriptOptions &options);

/// SystemDS spells these options with one dash: "-nvargs" becomes "--nvargs", and so on.
std::vector<std::string> withLongDashes(int argc, char **argv);

} // namespace headrace::cli
