#include "Interpreter.h"

#include "runtime/system/ForkSafety.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace nb = nanobind;

namespace headrace::python {

namespace {

/// The calls of this process, and whether the interpreter ends. Never destroyed: threads that were
/// left behind look at it.
struct Calls {
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  unsigned generation = forkGeneration();
  std::atomic<bool> ending{false};
  std::thread::id endingThread;
};

std::atomic<Calls *> callsOfProcess{nullptr};

// A forked child has none of its parent's calls. Called with the interpreter's lock, or in a call.
Calls &calls() {
  Calls *known = callsOfProcess.load();
  if (known && known->generation == forkGeneration())
    return *known;
  auto *fresh = new Calls;
  if (!callsOfProcess.compare_exchange_strong(known, fresh))
    delete fresh;
  return *callsOfProcess.load();
}

bool isLeftBehind() { return calls().ending && calls().endingThread != std::this_thread::get_id(); }

[[noreturn]] void sleepUntilTheEnd() {
  for (;;)
    std::this_thread::sleep_for(std::chrono::hours(1));
}

// Signals are delivered to Python's main thread alone, which is another one after a fork.
bool isMainThreadOfPython() {
  static unsigned long main = 0;
  static unsigned generation = 0;
  if (main == 0 || generation != forkGeneration()) {
    main = nb::cast<unsigned long>(
        nb::module_::import_("threading").attr("main_thread")().attr("ident"));
    generation = forkGeneration();
  }
  return PyThread_get_thread_ident() == main;
}

/// A kernel cannot be stopped. If one still runs when the process ends, what it uses must not be
/// destroyed: the process ends without that.
void leaveRunningCalls(int status, void *) {
  {
    std::lock_guard lock(calls().mutex);
    if (calls().running == 0)
      return;
  }
  std::fflush(nullptr);
  ::_exit(status);
}

/// Lets the calls of other threads come to their end; none begins from here on.
void end() {
  calls().endingThread = std::this_thread::get_id();
  calls().ending = true;
  ::on_exit(leaveRunningCalls, nullptr);
  // Most come to a point where they stop within a fraction of that.
  constexpr auto patience = std::chrono::seconds(2);
  nb::gil_scoped_release release;
  std::unique_lock lock(calls().mutex);
  calls().changed.wait_for(lock, patience, [] { return calls().running == 0; });
}

} // namespace

UnlockedCall::UnlockedCall(std::optional<nb::python_error> &raised, const StopFlag *stop)
    : raised(raised), stop(stop), isMainThread(isMainThreadOfPython()), state(nullptr),
      interruption([this] { return isAsked(); }) {
  if (isLeftBehind()) {
    PyEval_SaveThread();
    sleepUntilTheEnd();
  }
  {
    std::lock_guard lock(calls().mutex);
    ++calls().running;
  }
  state = PyEval_SaveThread();
}

UnlockedCall::~UnlockedCall() {
  // Counted until it holds the lock: whoever ends the interpreter waits for that.
  if (!isLeftBehind())
    PyEval_RestoreThread(state);
  {
    std::lock_guard lock(calls().mutex);
    --calls().running;
  }
  calls().changed.notify_all();
  if (isLeftBehind()) {
    if (PyGILState_Check())
      PyEval_SaveThread();
    sleepUntilTheEnd();
  }
}

bool UnlockedCall::isAsked() const {
  if (isLeftBehind() || (stop && stop->asked))
    return true;
  if (!isMainThread)
    return false;
  PyEval_RestoreThread(state);
  bool asked = PyErr_CheckSignals() != 0;
  if (asked)
    raised.emplace();
  PyEval_SaveThread();
  return asked;
}

bool withInterpreter(const std::function<void()> &work) {
  if (isLeftBehind())
    return false;
  nb::gil_scoped_acquire interpreter;
  work();
  return true;
}

void registerEnd(nb::module_ &module) {
  module.def("end", &end);
  nb::module_::import_("atexit").attr("register")(module.attr("end"));
}

} // namespace headrace::python
