// A forked child has the memory of its parent, but of the parent's threads only the one that
// forked. Data that another thread had half changed stay so, and its locks stay locked. Three means
// against that, by how long the work takes:
//
// - ForkSafeMutex guards data that are changed in a moment: a fork waits until all are free.
// - CompilerSection marks calls of LLVM, whose locks cannot be listed: a fork waits for the
//   sections that run, which are short (a pass, a kernel).
// - LongLock guards work that takes long. No fork waits for it: a child that wants a lock that a
//   thread of its parent held is told so.
#pragma once

#include "runtime/system/Error.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>

namespace headrace {

/// How many forks are between the process that loaded this library and this one.
unsigned forkGeneration();

/// A mutex that is free in a forked child, and what it guards whole. Nothing is locked, and no such
/// mutex made or destroyed, while one is held.
class ForkSafeMutex {
public:
  ForkSafeMutex();
  ~ForkSafeMutex();
  ForkSafeMutex(const ForkSafeMutex &) = delete;

  void lock() { mutex.lock(); }
  bool try_lock() { return mutex.try_lock(); }
  void unlock() { mutex.unlock(); }

private:
  friend struct ForkHandlers;
  std::mutex mutex;
  ForkSafeMutex *previous = nullptr, *next = nullptr;
};

/// While one lives, no other thread forks; a fork that waits keeps new ones from beginning. They
/// may be within each other. The interpreter's lock must not be waited for inside: whoever forks
/// may hold it.
class CompilerSection {
public:
  CompilerSection();
  ~CompilerSection();
  CompilerSection(const CompilerSection &) = delete;

  /// Inside a section, where nothing is half done: lets a fork that waits go first.
  static void yieldToFork();

  /// Inside or outside: while one lives, this thread is in no section. For waiting on other threads
  /// that are.
  class Pause {
  public:
    Pause();
    ~Pause();
    Pause(const Pause &) = delete;

  private:
    int depth;
  };
};

/// Held by one thread at a time, for seconds perhaps. Waiting for it can be interrupted.
class LongLock {
public:
  /// `what` is locked: "model 'digits'".
  explicit LongLock(std::string what) : what(std::move(what)) {}
  LongLock(const LongLock &) = delete;

  /// Throws Error if a thread of the parent held it when this process was forked.
  void lock();
  void unlock();
  /// Whether another thread waits for it now: one whose work can be done later may make way.
  bool isAwaited() const { return waiting.load() > 0; }

private:
  std::string what;
  std::atomic<int> waiting{0};
  /// 0, or one more than the generation of the process whose thread holds it.
  std::atomic<unsigned> holder{0};
};

} // namespace headrace
