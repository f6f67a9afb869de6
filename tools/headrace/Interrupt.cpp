#include "Interrupt.h"

#include <csignal>
#include <unistd.h>

namespace headrace::cli {

std::atomic<bool> statusShown = false;

namespace {

std::atomic<int> sections = 0;
std::atomic<bool> pending = false;

[[noreturn]] void leave() {
  if (statusShown) [[maybe_unused]]
    ssize_t written = ::write(STDERR_FILENO, "\r\033[K", 4);
  ::_exit(130);
}

void onInterrupt(int) {
  pending = true;
  if (sections == 0)
    leave();
}

} // namespace

void installInterruptHandler() {
  struct sigaction handler = {};
  handler.sa_handler = onInterrupt;
  handler.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &handler, nullptr);
}

Uninterrupted::Uninterrupted() { ++sections; }

Uninterrupted::~Uninterrupted() {
  if (--sections == 0 && pending)
    leave();
}

} // namespace headrace::cli
