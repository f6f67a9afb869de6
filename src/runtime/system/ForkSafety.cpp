#include "runtime/system/ForkSafety.h"

#include "runtime/system/Interruption.h"

#include <chrono>
#include <new>
#include <pthread.h>
#include <thread>
#include <utility>

namespace headrace {

namespace {

/// All that the handlers work on. Never destroyed: threads may run while the process ends.
struct ForkState {
  std::mutex registryMutex;
  ForkSafeMutex *first = nullptr;

  std::mutex sectionMutex;
  std::condition_variable sectionsChanged;
  int threadsInSections = 0;
  std::atomic<bool> forkWaits{false};

  std::atomic<unsigned> generation{0};
};

ForkState &forkState();

thread_local int sectionDepth = 0;

} // namespace

/// Handlers that fork() calls: before, and after in either process.
struct ForkHandlers {
  static void prepare() {
    ForkState &state = forkState();
    {
      // A compiler that does not come to a pause must not hang the application.
      constexpr auto longest = std::chrono::seconds(30);
      std::unique_lock lock(state.sectionMutex);
      state.forkWaits = true;
      state.sectionsChanged.wait_for(
          lock, longest, [&] { return state.threadsInSections == (sectionDepth > 0 ? 1 : 0); });
      lock.release(); // held across the fork
    }
    state.registryMutex.lock();
    for (ForkSafeMutex *mutex = state.first; mutex; mutex = mutex->next)
      mutex->lock();
  }

  static void release() {
    ForkState &state = forkState();
    for (ForkSafeMutex *mutex = state.first; mutex; mutex = mutex->next)
      mutex->unlock();
    state.registryMutex.unlock();
    state.forkWaits = false;
    state.sectionMutex.unlock();
  }

  static void inParent() {
    release();
    forkState().sectionsChanged.notify_all();
  }

  static void inChild() {
    ForkState &state = forkState();
    state.generation.fetch_add(1);
    state.threadsInSections = sectionDepth > 0 ? 1 : 0;
    // No thread waits on it here, whatever it remembers of the parent's threads.
    new (&state.sectionsChanged) std::condition_variable;
    release();
  }

  static void add(ForkSafeMutex *mutex) {
    ForkState &state = forkState();
    std::lock_guard lock(state.registryMutex);
    mutex->next = state.first;
    if (state.first)
      state.first->previous = mutex;
    state.first = mutex;
  }

  static void remove(ForkSafeMutex *mutex) {
    ForkState &state = forkState();
    std::lock_guard lock(state.registryMutex);
    (mutex->previous ? mutex->previous->next : state.first) = mutex->next;
    if (mutex->next)
      mutex->next->previous = mutex->previous;
  }
};

namespace {

ForkState &forkState() {
  static ForkState *state = [] {
    auto *made = new ForkState;
    pthread_atfork(ForkHandlers::prepare, ForkHandlers::inParent, ForkHandlers::inChild);
    return made;
  }();
  return *state;
}

// Made while the program starts: a fork amid its first use would leave a child that waits for it to
// be made.
[[maybe_unused]] const ForkState &madeAtStart = forkState();

void enter() {
  ForkState &state = forkState();
  std::unique_lock lock(state.sectionMutex);
  state.sectionsChanged.wait(lock, [&] { return !state.forkWaits; });
  ++state.threadsInSections;
}

void leave() {
  ForkState &state = forkState();
  {
    std::lock_guard lock(state.sectionMutex);
    --state.threadsInSections;
  }
  state.sectionsChanged.notify_all();
}

} // namespace

unsigned forkGeneration() { return forkState().generation.load(std::memory_order_relaxed); }

ForkSafeMutex::ForkSafeMutex() { ForkHandlers::add(this); }
ForkSafeMutex::~ForkSafeMutex() { ForkHandlers::remove(this); }

CompilerSection::CompilerSection() {
  if (sectionDepth == 0)
    enter();
  ++sectionDepth;
}

CompilerSection::~CompilerSection() {
  if (--sectionDepth == 0)
    leave();
}

void CompilerSection::yieldToFork() {
  if (forkState().forkWaits.load(std::memory_order_relaxed))
    Pause pause;
}

CompilerSection::Pause::Pause() : depth(std::exchange(sectionDepth, 0)) {
  if (depth > 0)
    leave();
}

CompilerSection::Pause::~Pause() {
  if (depth > 0)
    enter();
  sectionDepth = depth;
}

void LongLock::lock() {
  unsigned mine = forkGeneration() + 1, found = 0;
  if (holder.compare_exchange_strong(found, mine))
    return;
  struct Waiting {
    explicit Waiting(std::atomic<int> &count) : count(count) { ++count; }
    ~Waiting() { --count; }
    std::atomic<int> &count;
  } counted(waiting);
  for (;;) {
    found = 0;
    if (holder.compare_exchange_strong(found, mine))
      return;
    if (found != mine)
      throw Error(ErrorKind::Unsupported,
                  what + ": a thread of the parent process was using it when this process was "
                         "forked; load it again here");
    CompilerSection::Pause pause;
    pollInterruption();
    // The work that holds the lock takes far longer.
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void LongLock::unlock() { holder.store(0); }

} // namespace headrace
