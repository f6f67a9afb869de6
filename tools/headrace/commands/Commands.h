// The commands: each adds itself to the command line and, when chosen, says what to do.
#pragma once

#include <CLI/App.hpp>
#include <functional>
#include <stdexcept>

namespace headrace::cli {

/// The action of the command line; gives the exit code.
using Action = std::function<int()>;

void addRunCommand(CLI::App &app, Action &action);
void addCompileCommand(CLI::App &app, Action &action);
void addBenchCommand(CLI::App &app, Action &action);
void addVerifyCommand(CLI::App &app, Action &action);
void addExplainCommand(CLI::App &app, Action &action);
void addExploreCommand(CLI::App &app, Action &action);
void addOptimizeCommand(CLI::App &app, Action &action);
void addBlameCommand(CLI::App &app, Action &action);
void addMachineCommand(CLI::App &app, Action &action);
void addVtaCommand(CLI::App &app, Action &action);
void addQuantizeCommand(CLI::App &app, Action &action);
void addVtaLayers(CLI::App &vta, Action &action);
void addRewriteCommand(CLI::App &app, Action &action);
void addStudioCommand(CLI::App &app, Action &action);
void addTuneCommand(CLI::App &app, Action &action);
void addPythonCommands(CLI::App &app, Action &action);

/// A command line that does not say what to do: exits with 2 if an Error exits with 1.
class UsageError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

/// An error in a script: its message shows the place in lines of its own.
class ScriptError : public std::runtime_error {
public:
  using std::runtime_error::runtime_error;
};

} // namespace headrace::cli
