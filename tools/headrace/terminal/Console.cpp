#include "terminal/Console.h"

#include "report/Text.h"
#include "terminal/Interrupt.h"
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace headrace::cli {

namespace {

bool isTerminal(std::FILE *stream) { return ::isatty(::fileno(stream)) != 0; }

bool hasColours(std::FILE *stream) {
  const char *noColour = std::getenv("NO_COLOR");
  const char *terminal = std::getenv("TERM");
  return isTerminal(stream) && (!noColour || !*noColour) &&
         !(terminal && std::string_view(terminal) == "dumb");
}

} // namespace

std::string styled(std::FILE *stream, Style style, std::string_view text) {
  if (!hasColours(stream))
    return std::string(text);
  return fmt::format("\033[{}m{}\033[0m", style == Style::Bold ? "1" : "1;31", text);
}

void showStatus(std::string_view text) {
  if (!isTerminal(stderr))
    return;
  statusShown = true;
  fmt::print(stderr, "\r\033[K{}", printable(text));
  std::fflush(stderr);
}

void clearStatus() {
  if (!statusShown)
    return;
  fmt::print(stderr, "\r\033[K");
  std::fflush(stderr);
  statusShown = false;
}

Progress::Progress(std::string activity)
    : activity(std::move(activity)), begin(std::chrono::steady_clock::now()) {
  if (isTerminal(stderr))
    thread = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread.joinable())
    return;
  {
    std::lock_guard lock(mutex);
    done = true;
  }
  ended.notify_one();
  thread.join();
  clearStatus();
}

void Progress::show() {
  using namespace std::chrono_literals;
  constexpr std::string_view spinner = "|/-\\";
  std::unique_lock lock(mutex);
  auto wait = 300ms;
  for (size_t turn = 0; !ended.wait_for(lock, wait, [this] { return done; }); ++turn) {
    std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    showStatus(
        fmt::format("{} {} {:.1f} s", spinner[turn % spinner.size()], activity, elapsed.count()));
    wait = 100ms;
  }
}

} // namespace headrace::cli
