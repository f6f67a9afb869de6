#include "runtime/system/ThreadPool.h"

#include "runtime/system/Error.h"
#include "runtime/system/ForkSafety.h"
#include "runtime/system/Interruption.h"
#include "runtime/system/ThreadChoice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <mutex>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace headrace {

namespace {

constexpr int maxThreads = 1024;
// Long enough to bridge the gap between two small steps, short against a scheduler's time slice.
constexpr auto spinTime = std::chrono::microseconds(30);
// More chunks than threads, so that a thread that falls behind leaves its share to the others.
constexpr int64_t chunksPerThread = 4;

int coresOfProcess() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) == 0)
    return std::clamp(CPU_COUNT(&set), 1, maxThreads);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, maxThreads);
}

void pauseBriefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Spins until `done` holds; false when the time is over.
template <class Predicate> bool spinUntil(bool allowed, Predicate done) {
  if (done())
    return true;
  if (!allowed)
    return false;
  auto deadline = std::chrono::steady_clock::now() + spinTime;
  do {
    for (int i = 0; i < 32; ++i) {
      if (done())
        return true;
      pauseBriefly();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  return false;
}

// The state word: which loop is on (generation), whether workers may still join it (open), and
// how many are in it (active). One word, so that joining a loop that just ended is impossible.
constexpr uint64_t openBit = uint64_t{1} << 31;
constexpr uint64_t activeMask = openBit - 1;
uint32_t generationOf(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
bool isOpen(uint64_t word) { return (word & openBit) != 0; }
uint64_t activeIn(uint64_t word) { return word & activeMask; }

/// Chunks that follow each other.
struct Chunks {
  int64_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
};

/// A thread's share of a loop. Its thread takes one chunk after the other, so that what a kernel
/// fetched ahead is used by the same core, and kernels that split their rows alike find what they
/// read in its cache. Threads that have done theirs take some of the end, to go on from there, or
/// all if the thread did not come.
class alignas(64) Share {
public:
  /// While nobody takes part in the loop.
  void reset(Chunks chunks) {
    started.store(false);
    range.store(pack(chunks));
  }

  /// The next chunk for its own thread; -1 when none is left.
  int64_t takeFirst() {
    if (!started.load())
      started.store(true);
    for (uint64_t now = range.load(); !unpack(now).empty();) {
      Chunks chunks = unpack(now);
      if (range.compare_exchange_weak(now, pack({chunks.begin + 1, chunks.end})))
        return chunks.begin;
    }
    return -1;
  }

  /// For another thread: half of what is left; `atMost` so many.
  Chunks takeLast(int64_t atMost) {
    for (uint64_t now = range.load(); !unpack(now).empty();) {
      Chunks chunks = unpack(now);
      int64_t left = chunks.end - chunks.begin;
      int64_t middle = chunks.end - std::min(atMost, started.load() ? (left + 1) / 2 : left);
      if (range.compare_exchange_weak(now, pack({chunks.begin, middle})))
        return {middle, chunks.end};
    }
    return {};
  }

  /// Called by the thread that owns the range, when the range is empty.
  void refill(Chunks chunks) { range.store(pack(chunks)); }

private:
  static uint64_t pack(Chunks chunks) {
    return static_cast<uint64_t>(chunks.begin) << 32 | static_cast<uint64_t>(chunks.end);
  }
  static Chunks unpack(uint64_t packed) {
    return {static_cast<int64_t>(packed >> 32), static_cast<int64_t>(packed & 0xffffffff)};
  }

  std::atomic<uint64_t> range{0};
  std::atomic<bool> started{false};
};

/// What ThreadPool::global() is for this thread; null: the process's.
thread_local ThreadPool *poolOfThread = nullptr;

} // namespace

struct ThreadPool::State {
  State(ThreadPool *pool, int threads, bool spin)
      : pool(pool), spin(spin), forksAtStart(forkGeneration()),
        shares(static_cast<size_t>(threads)) {}

  ThreadPool *const pool;
  const bool spin;
  const unsigned forksAtStart; // a forked child has none of its parent's workers
  std::atomic<bool> busy{false};
  std::atomic<uint64_t> word{0};

  // The loop; written by its caller before it opens, read only by threads that joined.
  const Body *body = nullptr;
  InterruptionSource::State *interruption = nullptr;
  int64_t chunks = 0, chunkSize = 0, largerChunks = 0;
  std::vector<Share> shares; // of a loop of fewer chunks, as many as there are chunks
  int64_t usedShares = 0;
  std::atomic<bool> failed{false};
  std::exception_ptr failure;

  std::mutex mutex;
  std::condition_variable wake, finished;
  std::atomic<int> sleepers{0};
  std::atomic<bool> callerSleeps{false};
  std::atomic<bool> stop{false};
  std::vector<std::thread> workers;

  bool startWorker(int worker);
  void startWorkers(int count);
  void work(int worker);
  void awaitNextLoop(uint32_t seen);
  void runLoop(int64_t count, int64_t chunkCount, const Body &loop);
  /// The larger chunks are spread evenly: shares of equally many chunks are equally large.
  int64_t beginOf(int64_t chunk) const { return chunk * chunkSize + chunk * largerChunks / chunks; }
  void runChunks(int worker);
  int64_t takeChunk(int worker);
  void wakeWorkers();
  void leave();
  void awaitWorkers();
};

// False when the system allows no more threads: the loops are right with fewer.
bool ThreadPool::State::startWorker(int worker) {
  try {
    workers.emplace_back([this, worker] {
      poolOfThread = pool; // loops inside of its loops find it busy
      work(worker);
    });
    return true;
  } catch (const std::system_error &) {
    return false;
  }
}

void ThreadPool::State::startWorkers(int count) {
  // Signals are for the threads of the application.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  workers.reserve(static_cast<size_t>(count));
  int worker = 1;
  while (worker <= count && startWorker(worker))
    ++worker;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void ThreadPool::State::work(int worker) {
  uint32_t seen = 0;
  while (true) {
    awaitNextLoop(seen);
    if (stop.load())
      return;
    uint64_t current = word.load();
    seen = generationOf(current);
    while (isOpen(current) && generationOf(current) == seen)
      if (word.compare_exchange_weak(current, current + 1)) {
        AdoptInterruption adopted(interruption);
        runChunks(worker);
        leave();
        break;
      }
  }
}

void ThreadPool::State::awaitNextLoop(uint32_t seen) {
  auto called = [&] { return stop.load() || generationOf(word.load()) != seen; };
  if (spinUntil(spin, called))
    return;
  // First counted as a sleeper, then a last look; the caller opens, then looks for sleepers.
  std::unique_lock lock(mutex);
  sleepers.fetch_add(1);
  wake.wait(lock, called);
  sleepers.fetch_sub(1);
}

void ThreadPool::State::runLoop(int64_t count, int64_t chunkCount, const Body &loop) {
  body = &loop;
  interruption = interruptionOfThread();
  chunks = chunkCount;
  chunkSize = count / chunkCount;
  largerChunks = count % chunkCount;
  usedShares = std::min<int64_t>(chunks, static_cast<int64_t>(shares.size()));
  for (int64_t i = 0; i < usedShares; ++i)
    shares[i].reset({i * chunks / usedShares, (i + 1) * chunks / usedShares});
  failed.store(false);
  word.store((uint64_t{generationOf(word.load())} + 1) << 32 | openBit);
  wakeWorkers();
  runChunks(0);
  word.fetch_and(~openBit);
  awaitWorkers();
}

/// Takes a chunk from the worker's own share, then from others'; -1 if none is left.
int64_t ThreadPool::State::takeChunk(int worker) {
  if (failed.load())
    return -1;
  bool hasShare = worker < usedShares;
  int64_t chunk = hasShare ? shares[worker].takeFirst() : -1;
  for (int64_t i = 1; i <= usedShares && chunk < 0; ++i) {
    Chunks taken = shares[(worker + i) % usedShares].takeLast(hasShare ? chunks : 1);
    if (taken.empty())
      continue;
    chunk = taken.begin++;
    if (!taken.empty())
      shares[worker].refill(taken);
  }
  return chunk;
}

void ThreadPool::State::runChunks(int worker) {
  for (int64_t chunk = takeChunk(worker); chunk >= 0; chunk = takeChunk(worker)) {
    int64_t begin = beginOf(chunk), end = beginOf(chunk + 1);
    try {
      pollInterruption();
      (*body)(begin, end, worker);
    } catch (...) {
      if (!failed.exchange(true))
        failure = std::current_exception();
    }
  }
}

void ThreadPool::State::wakeWorkers() {
  int64_t asleep = sleepers.load();
  if (asleep == 0)
    return;
  {
    std::lock_guard lock(mutex);
  }
  if (chunks - 1 >= asleep)
    return wake.notify_all();
  for (int64_t i = 0; i < chunks - 1; ++i)
    wake.notify_one();
}

void ThreadPool::State::leave() {
  uint64_t left = word.fetch_sub(1) - 1;
  if (activeIn(left) != 0 || isOpen(left) || !callerSleeps.load())
    return;
  {
    std::lock_guard lock(mutex);
  }
  finished.notify_one();
}

void ThreadPool::State::awaitWorkers() {
  auto done = [&] { return activeIn(word.load()) == 0; };
  if (spinUntil(spin, done))
    return;
  std::unique_lock lock(mutex);
  callerSleeps.store(true);
  finished.wait(lock, done);
  callerSleeps.store(false);
}

static void checkCount(int threads) {
  if (threads < 1 || threads > maxThreads)
    throw Error(ErrorKind::InvalidArgument, "threads: expected 1 to " + std::to_string(maxThreads) +
                                                ", got " + std::to_string(threads));
}

ThreadPool::ThreadPool(int threads) : threadCount(threads) {
  checkCount(threads);
  // With more threads than cores a spinning thread keeps a working one off its core.
  state = std::make_unique<State>(this, threads, threads <= coresOfProcess());
  state->startWorkers(threads - 1);
}

ThreadPool::~ThreadPool() {
  if (state->forksAtStart != forkGeneration()) {
    // The workers live in the parent; joining them or destroying what they wait on would hang.
    [[maybe_unused]] State *leaked = state.release();
    return;
  }
  {
    std::lock_guard lock(state->mutex);
    state->stop.store(true);
  }
  state->wake.notify_all();
  for (std::thread &worker : state->workers)
    worker.join();
}

/// The pool of a number of threads. Pools are never destroyed: other static objects may still run
/// loops at exit. Without a lock, which a fork could leave locked.
static ThreadPool &poolOf(int threads) {
  checkCount(threads);
  static std::array<std::atomic<ThreadPool *>, maxThreads + 1> pools{};
  std::atomic<ThreadPool *> &place = pools[static_cast<size_t>(threads)];
  if (ThreadPool *known = place.load())
    return *known;
  auto fresh = std::make_unique<ThreadPool>(threads);
  ThreadPool *known = nullptr;
  return place.compare_exchange_strong(known, fresh.get()) ? *fresh.release() : *known;
}

static std::atomic<int> processThreads{0}; // 0 until somebody chooses

ThreadPool &ThreadPool::global() {
  if (poolOfThread)
    return *poolOfThread;
  if (int chosen = processThreads.load())
    return poolOf(chosen);
  static ThreadPool &pool = poolOf(defaultThreads());
  return pool;
}

void setProcessThreads(int threads) {
  checkCount(threads);
  processThreads.store(threads);
}

ThreadChoice::ThreadChoice(int threads) : before(poolOfThread) {
  if (threads != 0)
    poolOfThread = &poolOf(threads);
}
ThreadChoice::~ThreadChoice() { poolOfThread = before; }

int ThreadPool::defaultThreads() {
  const char *setting = std::getenv("HEADRACE_THREADS");
  if (!setting || !*setting)
    return coresOfProcess();
  const char *end = setting + std::strlen(setting);
  int threads = 0;
  auto [stopped, error] = std::from_chars(setting, end, threads);
  if (error != std::errc() || stopped != end || threads < 1 || threads > maxThreads)
    throw Error(ErrorKind::InvalidArgument, "HEADRACE_THREADS: expected an integer from 1 to " +
                                                std::to_string(maxThreads) + ", got '" + setting +
                                                "'");
  return threads;
}

static thread_local bool isWithoutWorkers = false;

ThreadPool::WithoutWorkers::WithoutWorkers() : before(std::exchange(isWithoutWorkers, true)) {}
ThreadPool::WithoutWorkers::~WithoutWorkers() { isWithoutWorkers = before; }

void ThreadPool::parallelFor(int64_t count, int64_t grain, Body body) {
  if (count <= 0)
    return;
  grain = std::max<int64_t>(grain, 1);
  int64_t chunks = std::min<int64_t>(count / grain, threadCount * chunksPerThread);
  // As many for each thread, unless a chunk is a single item.
  if (chunks > threadCount && chunks < count)
    chunks -= chunks % threadCount;
  bool alone = threadCount == 1 || chunks <= 1 || isWithoutWorkers ||
               state->forksAtStart != forkGeneration();
  if (alone || state->busy.exchange(true))
    return body(0, count, 0);
  state->runLoop(count, chunks, body);
  std::exception_ptr failure = std::exchange(state->failure, nullptr);
  state->busy.store(false);
  if (failure)
    std::rethrow_exception(failure);
}

} // namespace headrace
