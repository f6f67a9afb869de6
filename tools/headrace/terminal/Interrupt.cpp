#include "terminal/Interrupt.h"

#include "runtime/system/AtomicWrite.h"

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
  ::_exit(interruptedCode);
}

// If nothing would stay behind half done, at once; else whoever is at it stops at the next point
// if that is possible, and cleans up.
void onInterrupt(int) {
  pending = true;
  if (sections == 0 && unfinishedFiles() == 0)
    leave();
}

} // namespace

void installInterruptHandler() {
  struct sigaction handler = {};
  handler.sa_handler = onInterrupt;
  handler.sa_flags = SA_RESTART;
  ::sigaction(SIGINT, &handler, nullptr);
}

bool isInterruptPending() { return pending && sections == 0; }

Uninterrupted::Uninterrupted() { ++sections; }

Uninterrupted::~Uninterrupted() {
  if (--sections == 0 && pending && unfinishedFiles() == 0)
    leave();
}

} // namespace headrace::cli
