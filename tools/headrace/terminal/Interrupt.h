// Ctrl-C ends the program with 130, but never in the middle of writing a file.
#pragma once

#include <atomic>

namespace headrace::cli {

inline constexpr int interruptedCode = 130;

void installInterruptHandler();

/// Whether there was an interrupt that nothing keeps from ending the program.
bool isInterruptPending();

/// While one lives, an interrupt waits for its end.
class Uninterrupted {
public:
  Uninterrupted();
  ~Uninterrupted();
  Uninterrupted(const Uninterrupted &) = delete;
};

/// Whether a status line has to be cleared before leaving.
extern std::atomic<bool> statusShown;

} // namespace headrace::cli
