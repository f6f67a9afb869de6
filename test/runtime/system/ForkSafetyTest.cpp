#include "runtime/system/ForkSafety.h"

#include "runtime/Helpers.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadPool.h"

#include <functional>
#include <sys/wait.h>
#include <thread>

namespace headrace::test {
namespace {

/// Whether `work` holds in a forked child, which must not hang.
bool holdsInChild(const std::function<bool()> &work) {
  pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    ::_exit(work() ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// Does something again and again in another thread.
class Busy {
public:
  explicit Busy(const std::function<void()> &work)
      : thread([this, work] {
          while (!stop)
            work();
        }) {}
  ~Busy() {
    stop = true;
    thread.join();
  }

private:
  std::atomic<bool> stop{false};
  std::thread thread;
};

TEST(ForkSafety, MutexesAreFreeInAChild) {
  ForkSafeMutex mutex;
  int a = 0, b = 0;
  Busy busy([&] {
    std::lock_guard lock(mutex);
    ++a, ++b;
  });
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(holdsInChild([&] {
      std::lock_guard lock(mutex);
      return a == b; // nothing is half changed
    }));
}

TEST(ForkSafety, MutexesComeAndGo) {
  Busy busy([] {
    ForkSafeMutex first, second;
    std::lock_guard lock(first);
  });
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(holdsInChild([] {
      ForkSafeMutex mutex;
      return mutex.try_lock() && (mutex.unlock(), true);
    }));
}

TEST(ForkSafety, AForkWaitsForSections) {
  std::mutex mutex; // somebody else's
  std::atomic<int> begun{0};
  Busy busy([&] {
    CompilerSection outer;
    CompilerSection inner;
    std::lock_guard lock(mutex);
    ++begun;
  });
  for (int i = 0; i < 50; ++i)
    EXPECT_TRUE(holdsInChild([&] {
      CompilerSection section;
      return mutex.try_lock() && (mutex.unlock(), true);
    }));
  int before = begun;
  while (begun == before) // goes on after the forks
    std::this_thread::yield();
}

TEST(ForkSafety, ASectionMakesWayAndWaitsForOthers) {
  std::atomic<int> rounds{0};
  Busy busy([&] {
    CompilerSection section;
    for (int i = 0; i < 100; ++i)
      CompilerSection::yieldToFork();
    // A thread that waits for others in sections is in none itself.
    CompilerSection::Pause pause;
    std::thread([&] {
      CompilerSection other;
      ++rounds;
    }).join();
  });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(holdsInChild([] { return true; }));
  EXPECT_TRUE([] {
    CompilerSection section; // whoever forks may be in one
    return holdsInChild([] {
      CompilerSection inner;
      return true;
    });
  }());
}

TEST(ForkSafety, WhatAThreadOfTheParentHeldIsNamed) {
  LongLock lock("model 'm'");
  std::atomic<bool> held{false}, done{false};
  std::thread other([&] {
    std::lock_guard guard(lock);
    held = true;
    while (!done)
      std::this_thread::yield();
  });
  while (!held)
    std::this_thread::yield();
  EXPECT_TRUE(holdsInChild([&] {
    return errorOf(ErrorKind::Unsupported, [&] { lock.lock(); }) ==
           "model 'm': a thread of the parent process was using it when this process was forked; "
           "load it again here";
  }));
  done = true;
  other.join();
  EXPECT_TRUE(holdsInChild([&] {
    std::lock_guard guard(lock);
    return true;
  }));
}

TEST(ForkSafety, LoopsOfAChildRunAlone) {
  ThreadPool pool(3);
  auto sum = [&] {
    std::atomic<int64_t> total{0};
    pool.parallelFor(1000, 1, [&](int64_t begin, int64_t end, int) { total += end - begin; });
    return total == 1000;
  };
  Busy busy([&] { sum(); });
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(holdsInChild(sum));
}

TEST(Interruption, EndsLoopsInAllTheirThreads) {
  ThreadPool pool(3);
  std::atomic<bool> asked{false};
  InterruptionSource source([&] { return asked.load(); });
  auto untilInterrupted = [&] {
    pool.parallelFor(3, 1, [&](int64_t, int64_t, int) {
      asked = true;
      for (;;)
        pollInterruption();
    });
  };
  EXPECT_THROW(untilInterrupted(), Interrupted);
  EXPECT_TRUE(isInterrupted());
  {
    InterruptionSource inner([] { return false; });
    EXPECT_FALSE(isInterrupted());
  }
  EXPECT_THROW(pollInterruption(), Interrupted);
}

TEST(Interruption, LeavesOtherThreadsAlone) {
  InterruptionSource source([] { return true; });
  bool stopped = true;
  std::thread([&] { stopped = isInterrupted(); }).join();
  EXPECT_FALSE(stopped);
}

TEST(Interruption, EndsAWaitForALock) {
  LongLock lock("it");
  std::lock_guard guard(lock);
  bool interrupted = false;
  std::thread([&] {
    InterruptionSource source([] { return true; });
    try {
      lock.lock();
    } catch (const Interrupted &) {
      interrupted = true;
    }
  }).join();
  EXPECT_TRUE(interrupted);
}

} // namespace
} // namespace headrace::test
