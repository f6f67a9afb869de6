#pragma once

#include "runtime/system/FunctionRef.h"

#include <cstdint>
#include <memory>

namespace headrace {

/// Workers that share loops with the thread that calls.
class ThreadPool {
public:
  using Body = FunctionRef<void(int64_t begin, int64_t end, int worker)>;

  /// `threads` counts the caller: 1 starts no worker.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  /// The pool for loops of this thread: of as many threads as its ThreadChoice says, else
  /// setProcessThreads, else defaultThreads(). Made at first use.
  static ThreadPool &global();

  /// HEADRACE_THREADS, or the cores this process may use; throws Error on a bad value.
  static int defaultThreads();

  int threads() const { return threadCount; }

  /// Calls `body` on ranges that cover [0, count), each of at least `grain`. `worker` is in [0,
  /// threads()) and no two calls of one loop run at once under the same number. Small loops, loops
  /// inside loops, loops while another thread has the workers, and loops in a forked child run in
  /// the calling thread as worker 0. An exception of the body is rethrown here, once; a loop that
  /// is interrupted (Interruption.h) throws Interrupted.
  void parallelFor(int64_t count, int64_t grain, Body body);

  /// While one lives, loops of this thread leave the workers of all pools to others.
  class WithoutWorkers {
  public:
    WithoutWorkers();
    ~WithoutWorkers();
    WithoutWorkers(const WithoutWorkers &) = delete;

  private:
    bool before;
  };

private:
  struct State;
  std::unique_ptr<State> state;
  int threadCount;
};

} // namespace headrace
