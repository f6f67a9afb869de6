// Work outside the interpreter's lock (GIL): it stops if the user interrupts it, and is out of
// the way when the interpreter ends.
#pragma once

#include "runtime/system/Interruption.h"

#include <atomic>
#include <functional>
#include <nanobind/nanobind.h>
#include <optional>

namespace headrace::python {

/// Ends calls that were made with it, from any thread.
struct StopFlag {
  std::atomic<bool> asked{false};
};

/// A call that does not hold the interpreter's lock. While it lives, signals are noticed
/// (pollInterruption). Once the interpreter ends, other threads than the one that ends it never
/// come back from here: they would find no interpreter. They sleep until the process is gone.
class UnlockedCall {
public:
  /// `raised` is where an exception goes that a signal's handler raises. `stop` may be null.
  UnlockedCall(std::optional<nanobind::python_error> &raised, const StopFlag *stop);
  ~UnlockedCall();
  UnlockedCall(const UnlockedCall &) = delete;

private:
  bool isAsked() const;

  std::optional<nanobind::python_error> &raised;
  const StopFlag *stop;
  bool isMainThread;
  PyThreadState *state;
  InterruptionSource interruption;
};

/// Runs `work` without the interpreter's lock, so that other Python threads go on. Throws
/// Interrupted once `stop` asks for it.
template <class Work> auto unlocked(Work work, const StopFlag *stop = nullptr) -> decltype(work()) {
  std::optional<nanobind::python_error> raised;
  try {
    UnlockedCall call(raised, stop);
    return work();
  } catch (const Interrupted &) {
    if (!raised)
      throw;
    throw std::move(*raised);
  }
}

/// Does something with the interpreter's lock, in a thread that may not have it; false, and nothing
/// is done, if the interpreter is ending.
bool withInterpreter(const std::function<void()> &work);

/// Deletes an object that the interpreter knows, from any thread. At the interpreter's end it
/// stays.
template <class Object> void deleteLocked(Object *object) {
  withInterpreter([object] { delete object; });
}

/// Registers with atexit what lets calls of other threads end before the interpreter does.
void registerEnd(nanobind::module_ &module);

} // namespace headrace::python
