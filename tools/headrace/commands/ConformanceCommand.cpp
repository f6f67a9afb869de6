// headrace conformance: the cases of the onnx package, run by headrace.conformance, which is
// written in Python as they are.
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

int runCases(std::vector<std::string> arguments) {
  findPackageBesideCommand();
  arguments.insert(arguments.begin(), {"python3", "-m", "headrace.conformance"});
  std::vector<char *> pointers;
  for (std::string &argument : arguments)
    pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  ::execvp("python3", pointers.data());
  throw Error(ErrorKind::InvalidArgument,
              std::string("the cases are Python programs; cannot start python3: ") +
                  std::strerror(errno));
}

} // namespace

void addConformanceCommand(CLI::App &app, Action &action) {
  CLI::App *command =
      app.add_subcommand("conformance", "Run the cases of the onnx package and count what passes, "
                                        "per operator");
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, &action] {
    action = [arguments = command->remaining()] { return runCases(arguments); };
  });
}

} // namespace headrace::cli
