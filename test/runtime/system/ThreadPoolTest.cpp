#include "runtime/system/ThreadPool.h"

#include "runtime/Helpers.h"
#include "runtime/system/ThreadChoice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <thread>

namespace headrace {
namespace {

using namespace test;

TEST(ThreadPool, CoversEveryItemOnceInChunksOfTheGrain) {
  ThreadPool pool(4);
  for (int64_t count : {1, 2, 7, 64, 1000, 12345})
    for (int64_t grain : {0, 1, 3, 100, 20000}) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(count));
      std::atomic<bool> tooSmall{false}, badWorker{false};
      pool.parallelFor(count, grain, [&](int64_t begin, int64_t end, int worker) {
        if (end - begin < std::min(grain, count))
          tooSmall = true;
        if (worker < 0 || worker >= 4)
          badWorker = true;
        for (int64_t i = begin; i < end; ++i)
          ++seen[static_cast<size_t>(i)];
      });
      EXPECT_FALSE(tooSmall) << count << " by " << grain;
      EXPECT_FALSE(badWorker);
      EXPECT_TRUE(std::all_of(seen.begin(), seen.end(), [](auto &n) { return n == 1; }));
    }
}

TEST(ThreadPool, SharesOfThreadsAreEquallyLarge) {
  for (int threads : {2, 3, 4})
    for (int64_t count : {9, 14, 28, 49, 50, 1000})
      for (int64_t grain : {1, 2, 5}) {
        ThreadPool pool(threads);
        std::mutex mutex;
        std::set<int64_t> begins;
        pool.parallelFor(count, grain, [&](int64_t begin, int64_t, int) {
          std::lock_guard lock(mutex);
          begins.insert(begin);
        });
        if (count / grain < threads)
          continue;
        // A chunk begins where each share does, give or take the one item that may be left over.
        for (int share = 1; share < threads; ++share) {
          auto next = begins.lower_bound(share * count / threads);
          EXPECT_TRUE(next != begins.end() && *next <= share * count / threads + 1)
              << count << " by " << grain << " on " << threads;
        }
      }
}

TEST(ThreadPool, NothingToDoCallsNothing) {
  ThreadPool pool(2);
  pool.parallelFor(0, 1, [](int64_t, int64_t, int) { FAIL(); });
  pool.parallelFor(-5, 1, [](int64_t, int64_t, int) { FAIL(); });
}

TEST(ThreadPool, SmallLoopsStayInTheCaller) {
  ThreadPool pool(4);
  std::thread::id caller = std::this_thread::get_id();
  pool.parallelFor(10, 10, [&](int64_t begin, int64_t end, int worker) {
    EXPECT_EQ(std::this_thread::get_id(), caller);
    EXPECT_EQ(end - begin, 10);
    EXPECT_EQ(worker, 0);
  });
}

TEST(ThreadPool, WorkersTakePart) {
  ThreadPool pool(3);
  // Every thread waits in its chunk until all three have begun theirs.
  std::atomic<int> arrived{0};
  std::atomic<uint32_t> workers{0};
  pool.parallelFor(3, 1, [&](int64_t, int64_t, int worker) {
    workers |= 1u << worker;
    ++arrived;
    while (arrived < 3)
      std::this_thread::yield();
  });
  EXPECT_EQ(workers, 7u);
}

TEST(ThreadPool, AThreadsChunksFollowEachOther) {
  ThreadPool pool(3);
  // All are there before the first is done, so that nobody takes another's first chunks.
  std::atomic<int> arrived{0};
  std::array<std::vector<int64_t>, 3> taken;
  pool.parallelFor(24, 1, [&](int64_t begin, int64_t end, int worker) {
    if (taken[worker].empty()) {
      ++arrived;
      while (arrived < 3)
        std::this_thread::yield();
    }
    EXPECT_EQ(end - begin, 2);
    taken[worker].push_back(begin);
  });
  for (int worker = 0; worker < 3; ++worker) {
    // Of its own share first and in order; of others' after that.
    EXPECT_EQ(taken[worker].front(), 8 * worker);
    auto own = [&](int64_t begin) { return begin / 8 == worker; };
    auto others = std::find_if_not(taken[worker].begin(), taken[worker].end(), own);
    EXPECT_TRUE(std::is_sorted(taken[worker].begin(), others));
    EXPECT_TRUE(std::none_of(others, taken[worker].end(), own));
  }
}

TEST(ThreadPool, AShareThatNobodyComesForIsTakenByOthers) {
  ThreadPool pool(3);
  std::atomic<bool> held{true};
  std::atomic<int64_t> done{0};
  pool.parallelFor(24, 1, [&](int64_t begin, int64_t end, int worker) {
    done += end - begin;
    if (done == 24)
      held = false;
    // Workers stay in their first chunk until all others are done.
    while (worker != 0 && held)
      std::this_thread::yield();
  });
  EXPECT_EQ(done, 24);
}

TEST(ThreadPool, SleepingWorkersWakeUp) {
  ThreadPool pool(2);
  for (int round = 0; round < 20; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1)); // beyond the spinning
    std::atomic<int> arrived{0};
    pool.parallelFor(2, 1, [&](int64_t, int64_t, int) {
      ++arrived;
      while (arrived < 2)
        std::this_thread::yield();
    });
    EXPECT_EQ(arrived, 2);
  }
}

TEST(ThreadPool, NoWorkerNumberIsUsedTwiceAtOnce) {
  ThreadPool pool(4);
  std::array<std::atomic<bool>, 4> inside{};
  std::atomic<int> clashes{0};
  for (int round = 0; round < 2000; ++round)
    pool.parallelFor(16, 1, [&](int64_t, int64_t, int worker) {
      auto &mine = inside[static_cast<size_t>(worker)];
      clashes += mine.exchange(true) ? 1 : 0;
      mine = false;
    });
  EXPECT_EQ(clashes, 0);
}

TEST(ThreadPool, LoopsInsideLoopsAndFromSeveralThreads) {
  ThreadPool pool(3);
  std::atomic<int64_t> total{0};
  auto user = [&] {
    for (int round = 0; round < 100; ++round)
      pool.parallelFor(8, 1, [&](int64_t begin, int64_t end, int) {
        for (int64_t i = begin; i < end; ++i)
          pool.parallelFor(10, 1, [&](int64_t b, int64_t e, int) { total += e - b; });
      });
  };
  std::vector<std::thread> users;
  for (int i = 0; i < 3; ++i)
    users.emplace_back(user);
  for (std::thread &thread : users)
    thread.join();
  EXPECT_EQ(total, 3 * 100 * 8 * 10);
}

TEST(ThreadPool, ExceptionsReachTheCallerAndThePoolLivesOn) {
  ThreadPool pool(3);
  for (int round = 0; round < 50; ++round) {
    std::string message = errorOf(ErrorKind::InvalidArgument, [&] {
      pool.parallelFor(100, 1, [&](int64_t begin, int64_t end, int) {
        if (begin <= round && round < end)
          throw Error(ErrorKind::InvalidArgument, "item " + std::to_string(round));
      });
    });
    EXPECT_EQ(message, "item " + std::to_string(round));
  }
  std::atomic<int64_t> total{0};
  pool.parallelFor(100, 1, [&](int64_t begin, int64_t end, int) { total += end - begin; });
  EXPECT_EQ(total, 100);
}

TEST(ThreadPool, AThreadChoosesHowManyRunItsLoops) {
  ThreadPool &process = ThreadPool::global();
  std::set<ThreadPool *> seenByWorkers;
  {
    ThreadChoice five(5);
    ThreadPool &pool = ThreadPool::global();
    EXPECT_EQ(pool.threads(), 5);
    std::mutex mutex;
    std::atomic<int> arrived{0};
    pool.parallelFor(5, 1, [&](int64_t, int64_t, int) {
      ++arrived;
      while (arrived < 5) // so that each of the five has one
        std::this_thread::yield();
      std::lock_guard lock(mutex);
      seenByWorkers.insert(&ThreadPool::global());
    });
    EXPECT_EQ(seenByWorkers, std::set<ThreadPool *>{&pool});
    ThreadChoice none(0);
    EXPECT_EQ(&ThreadPool::global(), &pool);
    {
      ThreadChoice one(1);
      EXPECT_EQ(ThreadPool::global().threads(), 1);
    }
    EXPECT_EQ(&ThreadPool::global(), &pool);
    std::thread([&] { EXPECT_EQ(&ThreadPool::global(), &process); }).join();
  }
  EXPECT_EQ(&ThreadPool::global(), &process);
  for (int bad : {-1, 1025})
    errorOf(ErrorKind::InvalidArgument, [&] { ThreadChoice choice(bad); });
  errorOf(ErrorKind::InvalidArgument, [] { setProcessThreads(0); });
}

TEST(ThreadPool, AForkedChildNeitherHangsNorLosesWork) {
  ThreadPool pool(3);
  pool.parallelFor(100, 1, [](int64_t, int64_t, int) {});
  pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int64_t total = 0; // one thread now: no atomic needed
    pool.parallelFor(100, 1, [&](int64_t begin, int64_t end, int) { total += end - begin; });
    pool.~ThreadPool();
    ::_exit(total == 100 ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

class ThreadSetting : public testing::Test {
protected:
  ThreadSetting() {
    if (const char *value = std::getenv("HEADRACE_THREADS"))
      before = value;
  }
  ~ThreadSetting() override {
    if (before)
      ::setenv("HEADRACE_THREADS", before->c_str(), 1);
    else
      ::unsetenv("HEADRACE_THREADS");
  }
  std::optional<std::string> before;
};

TEST_F(ThreadSetting, ComesFromTheEnvironment) {
  ::setenv("HEADRACE_THREADS", "3", 1);
  EXPECT_EQ(ThreadPool::defaultThreads(), 3);
  ::unsetenv("HEADRACE_THREADS");
  EXPECT_GE(ThreadPool::defaultThreads(), 1);
  for (const char *bad : {"0", "-1", "many", "2x", "99999999999"}) {
    ::setenv("HEADRACE_THREADS", bad, 1);
    std::string message = errorOf(ErrorKind::InvalidArgument, [] { ThreadPool::defaultThreads(); });
    EXPECT_CONTAINS(message, "HEADRACE_THREADS");
    EXPECT_CONTAINS(message, std::string("'") + bad + "'");
  }
  errorOf(ErrorKind::InvalidArgument, [] { ThreadPool(0); });
}

} // namespace
} // namespace headrace
