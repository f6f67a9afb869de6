// Ctrl-C ends the program with 130, but never in the middle of writing a file.
#pragma once

#include <atomic>

namespace headrace::cli {

void installInterruptHandler();

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
