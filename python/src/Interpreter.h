// Work outside the interpreter's lock (GIL): it stops where the user interrupts it, and is out of
// the way when the interpreter ends.
#pragma once

#include "runtime/system/Interruption.h"

#include <functional>
#include <nanobind/nanobind.h>
#include <optional>

namespace headrace::python {

/// A call that does not hold the interpreter's lock. While it lives, signals are noticed
/// (pollInterruption). Once the interpreter ends, other threads than the one that ends it never
/// come back from here: they would find no interpreter. They sleep until the process is gone.
class UnlockedCall {
public:
  /// `raised` is where an exception goes that a signal's handler raises.
  explicit UnlockedCall(std::optional<nanobind::python_error> &raised);
  ~UnlockedCall();
  UnlockedCall(const UnlockedCall &) = delete;

private:
  bool isAsked() const;

  std::optional<nanobind::python_error> &raised;
  bool isMainThread;
  PyThreadState *state;
  InterruptionSource interruption;
};

/// Runs `work` without the interpreter's lock, so that other Python threads go on.
template <class Work> auto unlocked(Work work) -> decltype(work()) {
  std::optional<nanobind::python_error> raised;
  try {
    UnlockedCall call(raised);
    return work();
  } catch (const Interrupted &) {
    if (!raised)
      throw;
    throw std::move(*raised);
  }
}

/// Does something with the interpreter's lock, in a thread that may not have it; false, and nothing
/// is done, where the interpreter is ending.
bool withInterpreter(const std::function<void()> &work);

/// Deletes an object that the interpreter knows, from any thread. At the interpreter's end it
/// stays.
template <class Object> void deleteLocked(Object *object) {
  withInterpreter([object] { delete object; });
}

/// Registers with atexit what lets calls of other threads end before the interpreter does.
void registerEnd(nanobind::module_ &module);

} // namespace headrace::python
