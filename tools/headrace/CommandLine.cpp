// The command line: parses it, does what it asks, turns every error into one line and a code.
#include "CommandLine.h"

#include "runtime/system/Error.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/Listing.h"

#include "commands/Commands.h"
#include "commands/RunScript.h"
#include "report/Text.h"
#include "terminal/Console.h"
#include "terminal/Interrupt.h"
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fmt/format.h>
#include <new>

namespace headrace::cli {

namespace {

enum ExitCode { success = 0, userError = 1, wrongUsage = 2, internalError = 70 };

int fail(int code, std::string_view message) {
  clearStatus();
  std::fflush(stdout);
  fmt::print(stderr, "headrace: {} {}\n", styled(stderr, Style::Red, "error:"), printable(message));
  return code;
}

int failInScript(std::string_view message) {
  size_t end = message.find('\n');
  fail(userError, message.substr(0, end));
  while (end != std::string_view::npos) {
    message.remove_prefix(end + 1);
    end = message.find('\n');
    fmt::print(stderr, "{}\n", printable(message.substr(0, end)));
  }
  return userError;
}

std::vector<const CLI::App *> chosenBelow(const CLI::App &command) {
  return command.get_subcommands([](const CLI::App *each) { return each->parsed(); });
}

// Of words that nobody takes, and of a command that is missing; nothing of any other error.
std::string unexpectedWord(const CLI::App &command) {
  std::vector<std::string> words = command.remaining();
  std::vector<std::string> commands;
  for (const CLI::App *each : command.get_subcommands(nullptr))
    commands.push_back(each->get_name());
  if (!words.empty() && words[0].starts_with('-'))
    return fmt::format("unknown option '{}'", words[0]);
  if (!words.empty() && commands.empty())
    return fmt::format("unexpected argument '{}'", words[0]);
  if (!words.empty())
    return fmt::format("unknown command '{}'; expected {}", words[0], listed(commands));
  return commands.empty() ? "" : "expected a command: " + listed(commands);
}

int failUsage(const CLI::App &app, std::string message) {
  // A sentence begins in lower case after "error:"; a name in capitals, such as FILE, stays.
  auto isLower = [&](size_t i) {
    return std::islower(static_cast<unsigned char>(message[i])) != 0;
  };
  if (message.size() > 1 && isLower(1))
    message[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(message[0])));
  // If a command was chosen, its help is the one to read.
  std::string words = "headrace";
  for (auto chosen = chosenBelow(app); !chosen.empty(); chosen = chosenBelow(*chosen.front()))
    words += " " + chosen.front()->get_name();
  return fail(wrongUsage, fmt::format("{} (see {} --help)", message, words));
}

int failUsage(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App *command = &app;
  for (auto chosen = chosenBelow(app); !chosen.empty(); chosen = chosenBelow(*command))
    command = chosen.front();
  std::string own = unexpectedWord(*command);
  return failUsage(app, own.empty() ? error.what() : own);
}

void describe(CLI::App &app) {
  app.description("Headrace compiles and runs machine-learning models, optimizing data movement.");
  app.set_version_flag("--version", "headrace " HEADRACE_VERSION, "Show the version");
  app.set_help_flag("-h,--help", "Show this help");
  app.footer("Examples:\n"
             "  headrace run examples/digits/digits.onnx --random 0\n"
             "      run the model on random values and show its outputs\n"
             "  headrace explain examples/digits/digits.onnx --size batch=16\n"
             "      show its kernels, the data they move, and what fusion saved\n"
             "  headrace bench examples/digits/digits.onnx --profile\n"
             "      time it, kernel by kernel\n"
             "  headrace compile examples/digits/digits.onnx -o digits.hrpkg\n"
             "      compile it ahead of time; run, explain and bench take packages, too\n\n"
             "headrace COMMAND --help says more about a command.\n"
             "Exit codes: 0 done, 1 error or mismatch, 2 wrong usage, 70 internal error,\n"
             "130 interrupted.");
}

// Output must have arrived: a full disk or a closed pipe is an error.
int flushOutput(int code) {
  if (std::fflush(stdout) != 0 || std::ferror(stdout))
    return fail(userError, fmt::format("cannot write the output: {}", std::strerror(errno)));
  return code;
}

/// Help lists what targets offer, so a fault in the description of this machine shows here first.
void addCommands(CLI::App &app, Action &action) {
  addRunCommand(app, action);
  addCompileCommand(app, action);
  addBenchCommand(app, action);
  addVerifyCommand(app, action);
  addExplainCommand(app, action);
  addExploreCommand(app, action);
  addOptimizeCommand(app, action);
  addBlameCommand(app, action);
  addTuneCommand(app, action);
  addMachineCommand(app, action);
  addVtaCommand(app, action);
  addQuantizeCommand(app, action);
  addRewriteCommand(app, action);
  addStudioCommand(app, action);
  addPythonCommands(app, action);
}

} // namespace

int runCommandLine(int argc, char **argv) {
  installInterruptHandler();
  InterruptionSource interruption(isInterruptPending);
  CLI::App app("", "headrace");
  describe(app);
  Action action;
  try {
    addCommands(app, action);
    std::vector<std::string> words = withLongDashes(argc, argv);
    std::ranges::reverse(words); // as CLI11 wants them
    app.parse(words);
    if (!action) {
      fmt::print("{}", app.help());
      return flushOutput(success);
    }
    return flushOutput(action());
  } catch (const CLI::Success &request) { // --help, --version
    return flushOutput(app.exit(request));
  } catch (const CLI::ParseError &error) {
    return failUsage(app, error);
  } catch (const UsageError &error) {
    return failUsage(app, std::string(error.what()));
  } catch (const ScriptError &error) {
    return failInScript(error.what());
  } catch (const Error &error) {
    return fail(userError, error.what());
  } catch (const Interrupted &) {
    clearStatus();
    return interruptedCode;
  } catch (const std::bad_alloc &) {
    return fail(userError, "not enough memory");
  } catch (const InternalError &error) {
    return fail(internalError, error.what());
  } catch (const std::exception &error) {
    return fail(internalError, InternalError(error.what()).what());
  }
}

} // namespace headrace::cli
