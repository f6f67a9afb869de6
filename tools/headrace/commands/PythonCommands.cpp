// Commands that are written in Python, as the packages they stand on are: this program hands over
// to python3.
#include "runtime/system/Error.h"

#include "commands/Commands.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace headrace::cli {

namespace {

/// The Python package that was built together with this command is found without being installed.
void findPackageBesideCommand() {
  std::error_code error;
  std::filesystem::path command = std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path package = command.parent_path().parent_path() / "python";
  if (error || !std::filesystem::exists(package / "headrace", error))
    return;
  const char *given = std::getenv("PYTHONPATH");
  ::setenv("PYTHONPATH", given ? (package.string() + ":" + given).c_str() : package.c_str(), 1);
}

int runInPython(const std::string &command, std::vector<std::string> arguments) {
  findPackageBesideCommand();
  arguments.insert(arguments.begin(), {"python3", "-m", "headrace", command});
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execvp("python3", pointers.data());
  throw Error(ErrorKind::InvalidArgument,
              command + ": this command is a Python program; cannot start python3: " +
                  std::strerror(errno));
}

void addPythonCommand(CLI::App &app, Action &action, const std::string &name,
                      const std::string &summary) {
  CLI::App *command = app.add_subcommand(name, summary);
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, name, &action] {
    action = [name, arguments = command->remaining()] { return runInPython(name, arguments); };
  });
}

} // namespace

void addPythonCommands(CLI::App &app, Action &action) {
  addPythonCommand(app, action, "map", "Run a model on many inputs, on the machines of a cluster");
  addPythonCommand(app, action, "repl", "Enter statements of scripts and see what they give");
  addPythonCommand(app, action, "conformance",
                   "Run the cases of the onnx package, or scripts recorded from SystemDS, and\n"
                   "count what passes");
}

} // namespace headrace::cli
