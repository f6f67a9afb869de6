// Runs the command `headrace`: all that the page shows is what that command prints. A compiler that
// fails, or takes too long, takes nothing else with it.
#pragma once

#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace headrace::studio {

struct CommandResult {
  int code = 0;
  std::string output;
  std::string error; ///< the last lines of stderr, without the program's name
};

class Command {
public:
  /// The words that start `headrace`.
  explicit Command(std::vector<std::string> words) : words(std::move(words)) {}

  /// Runs it with these arguments and waits. A result whose code is not 0 has an error.
  CommandResult run(const std::vector<std::string> &arguments);
  /// Ends what runs now; further runs are possible, unless this is `forGood`.
  void cancel(bool forGood = false);

private:
  std::vector<std::string> words;
  std::mutex mutex;
  std::set<int> running;
  bool isOver = false;
};

/// The arguments as a line for a shell.
std::string shellText(const std::vector<std::string> &words);

} // namespace headrace::studio
