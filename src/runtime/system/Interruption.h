// Cooperative interruption of long work: it asks now and then whether to go on. The code that
// started it says where the answer comes from; nothing else of the process is asked, and no signal
// is handled here.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>

namespace headrace {

/// Thrown by pollInterruption. Not an Error: nothing is wrong.
class Interrupted : public std::exception {
public:
  const char *what() const noexcept override { return "interrupted"; }
};

/// Makes the work of this thread, and of those that help it, stoppable while it lives. They may be
/// within each other: an inner one takes the place of the outer.
class InterruptionSource {
public:
  /// `isAsked` is called in this thread, at most some twenty times a second; once it has said yes
  /// it is not called again.
  explicit InterruptionSource(std::function<bool()> isAsked);
  ~InterruptionSource();
  InterruptionSource(const InterruptionSource &) = delete;

  struct State;

private:
  std::unique_ptr<State> state;
  State *outer;
};

/// Throws Interrupted if the work was asked to stop. Cheap: to be called wherever work can end,
/// between steps that take a fraction of a second.
void pollInterruption();
/// Whether the work was asked to stop, for code that must not throw.
bool isInterrupted();

/// The source of interruptions of this thread, for threads that help it; null if it has none. It
/// lives as long as the work that they help with.
InterruptionSource::State *interruptionOfThread();

/// While one lives, this thread stops when the one that it helps is asked to.
class AdoptInterruption {
public:
  explicit AdoptInterruption(InterruptionSource::State *state);
  ~AdoptInterruption();
  AdoptInterruption(const AdoptInterruption &) = delete;

private:
  InterruptionSource::State *before;
};

} // namespace headrace
