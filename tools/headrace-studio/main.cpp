// headrace-studio: shows a model in the browser, or writes the page as files. `headrace studio`
// starts it.
#include "runtime/system/Error.h"

#include "studio/server/RecipeFile.h"
#include "studio/server/Studio.h"
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <csignal>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>
#include <unistd.h>

namespace headrace::studio {

namespace {

struct Options {
  std::vector<std::string> headrace, sizes;
  std::string model, recipe, program, target = "cpu", expansion = "auto", folder;
  int port = 0;
  bool opensBrowser = true;
};

std::string readRecipe(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!path.empty() && !file)
    throw Error(ErrorKind::Io, path + ": cannot be read");
  return text;
}

void addOptions(CLI::App &app, Options &options);

/// `headrace studio better.recipe`: the model and options that its first line names; options that
/// were given stay.
void openRecipe(Options &options) {
  if (!options.model.ends_with(".recipe"))
    return;
  if (!options.recipe.empty())
    throw Error(ErrorKind::InvalidArgument,
                options.model + ": expected a model beside --recipe, got a second recipe");
  options.recipe = options.model;
  std::vector<std::string> words = wordsOfHeading(readRecipe(options.recipe));
  if (words.empty())
    throw Error(ErrorKind::InvalidArgument,
                options.recipe +
                    ": its first line names no model; headrace studio MODEL "
                    "--recipe " +
                    options.recipe + " opens it");
  CLI::App app;
  Options named;
  addOptions(app, named);
  std::ranges::reverse(words);
  app.parse(words);
  options.model = modelBeside(options.recipe, named.model).string();
  if (options.sizes.empty())
    options.sizes = named.sizes;
  if (options.target == "cpu")
    options.target = named.target;
  if (options.expansion == "auto")
    options.expansion = named.expansion;
}

std::vector<std::string> commonOptions(const Options &options) {
  std::vector<std::string> common;
  for (const std::string &size : options.sizes)
    common.insert(common.end(), {"--size", size});
  if (options.target != "cpu")
    common.insert(common.end(), {"--target", options.target});
  if (options.expansion != "auto")
    common.insert(common.end(), {"--expansion", options.expansion});
  if (!options.program.empty())
    common.insert(common.end(), {"--program", options.program});
  return common;
}

/// A desktop's own way; without a desktop, the address on the terminal is all.
void openBrowser(const std::string &address) {
  if (!std::getenv("DISPLAY") && !std::getenv("WAYLAND_DISPLAY"))
    return;
  if (::fork() == 0) {
    ::setsid();
    ::execlp("xdg-open", "xdg-open", address.c_str(), nullptr);
    ::_exit(0);
  }
}

/// Ctrl-C and SIGTERM end the session: running commands first, then the server.
class EndOnSignal {
public:
  EndOnSignal(const sigset_t &signals, Command &command, PageServer &server)
      : waiter([signals, &command, &server] {
          int signal = 0;
          ::sigwait(&signals, &signal);
          command.cancel(true);
          server.stop();
        }) {}
  ~EndOnSignal() { waiter.join(); }

private:
  std::thread waiter;
};

int serve(const Options &options, Command &command, Session &session, const sigset_t &signals) {
  PageServer server(options.port,
                    [&](const PageRequest &request) { return answerOf(session, request); });
  std::printf("%s\nCtrl-C ends it.\n", server.address().c_str());
  std::fflush(stdout);
  EndOnSignal end(signals, command, server);
  if (options.opensBrowser)
    openBrowser(server.address());
  server.run();
  return 0;
}

int run(Options options) {
  openRecipe(options);
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGINT);
  ::sigaddset(&signals, SIGTERM);
  if (options.folder.empty()) // an export ends at once
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  if (::access(options.model.c_str(), R_OK) != 0)
    throw Error(ErrorKind::Io, options.model + ": cannot be read");
  Command command(options.headrace.empty() ? std::vector<std::string>{"headrace"}
                                           : options.headrace);
  Program program(command, {options.model, commonOptions(options)});
  Session session(program, readRecipe(options.recipe));
  if (options.folder.empty())
    return serve(options, command, session, signals);
  exportPage(session, options.folder);
  std::printf("%s/index.html\n", options.folder.c_str());
  return 0;
}

void addOptions(CLI::App &app, Options &options) {
  app.add_option("MODEL", options.model, "An ONNX file, a package, or a recipe that the page saved")
      ->required();
  app.add_option("--export", options.folder,
                 "Write the page with its data into this directory instead: index.html opens "
                 "without a server")
      ->type_name("DIR");
  app.add_option("--port", options.port, "The port of 127.0.0.1 [any free one]")
      ->type_name("N")
      ->check(CLI::Range(1, 65535));
  app.add_flag("!--no-browser", options.opensBrowser, "Print the address only");
  app.add_option("--recipe", options.recipe, "Start from this recipe")->type_name("FILE");
  app.add_option("--program", options.program, "The name of the program, in a package of several")
      ->type_name("NAME");
  app.add_option("--size", options.sizes,
                 "The value of a dynamic dimension, as in batch=4 (repeatable)")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  app.add_option("--target", options.target, "The machine to compile for")->type_name("NAME");
  app.add_option("--expansion", options.expansion, "Implementation of matmuls and convolutions")
      ->type_name("NAME");
  app.add_option("--headrace", options.headrace, "A word of the command that runs headrace")
      ->allow_extra_args(false)
      ->group("");
  app.footer("Examples:\n"
             "  headrace studio examples/digits/digits.onnx --size batch=16\n"
             "  headrace studio model.onnx --recipe better.recipe\n"
             "  headrace studio better.recipe\n"
             "  headrace studio model.hrpkg\n"
             "  headrace studio model.onnx --export report");
}

} // namespace

} // namespace headrace::studio

int main(int argc, char **argv) {
  using namespace headrace;
  studio::Options options;
  CLI::App app("Shows a model in the browser: its program at every phase, what it moves and takes, "
               "and what could be done.",
               "headrace studio");
  studio::addOptions(app, options);
  try {
    app.parse(argc, argv);
    return studio::run(options);
  } catch (const CLI::Success &request) { // --help
    return app.exit(request);
  } catch (const CLI::ParseError &error) {
    std::fprintf(stderr, "headrace: error: %s (see headrace studio --help)\n", error.what());
    return 2;
  } catch (const std::exception &error) {
    std::fprintf(stderr, "headrace: error: %s\n", error.what());
    return 1;
  }
}
