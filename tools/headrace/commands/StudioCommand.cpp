// headrace studio: hands over to headrace-studio, a program of its own that shows what this command
// prints.
#include "runtime/system/Error.h"

#include "commands/Commands.h"
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <unistd.h>

namespace headrace::cli {

namespace {

namespace fs = std::filesystem;

int runStudio(std::vector<std::string> arguments) {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> words = {"headrace-studio", "--headrace", self.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char *> pointers;
  for (std::string &word : words)
    pointers.push_back(word.data());
  pointers.push_back(nullptr);
  ::execv((self.parent_path() / words[0]).c_str(), pointers.data());
  ::execvp(words[0].c_str(), pointers.data());
  throw Error(
      ErrorKind::Unsupported,
      std::string("studio: cannot start headrace-studio: ") + std::strerror(errno) +
          "; it is a separate program, which a build of Headrace makes if the package "
          "libcpp-httplib-dev is installed, and pip install 'headrace[studio]' brings along");
}

} // namespace

void addStudioCommand(CLI::App &app, Action &action) {
  CLI::App *command = app.add_subcommand(
      "studio", "Show and steer a model in the browser, or write such a page with --export");
  command->set_help_flag();
  command->prefix_command();
  command->callback([command, &action] {
    action = [arguments = command->remaining()] { return runStudio(arguments); };
  });
}

} // namespace headrace::cli
