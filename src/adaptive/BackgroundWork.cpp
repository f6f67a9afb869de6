#include "adaptive/BackgroundWork.h"

#include "runtime/system/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace headrace::adaptive::background {
namespace {

struct Job {
  const void *owner;
  std::function<void()> run;
};

/// The thread and its jobs. A forked child has another one: of its parent's it has no thread.
class Worker {
public:
  void add(Job job) {
    std::lock_guard lock(mutex);
    if (stopping)
      return;
    jobs.push_back(std::move(job));
    if (!thread.joinable() && !start())
      jobs.clear();
    changed.notify_all();
  }

  void cancel(const void *owner) {
    std::unique_lock lock(mutex);
    std::erase_if(jobs, [&](const Job &job) { return job.owner == owner; });
    if (running != owner)
      return;
    unwanted = true;
    changed.wait(lock, [&] { return running != owner; });
  }

  void finish(const void *owner) {
    auto isOwners = [&](const Job &job) { return job.owner == owner; };
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return running != owner && std::ranges::none_of(jobs, isOwners); });
  }

  /// Ends the job that runs, and begins no other until `resume`.
  void pause() {
    std::unique_lock lock(mutex);
    paused = true;
    unwanted = true;
    // A job that does not come to an end must not hang the application.
    changed.wait_for(lock, std::chrono::seconds(30), [&] { return !running; });
  }

  void resume() {
    std::lock_guard lock(mutex);
    paused = false;
    changed.notify_all();
  }

  void stop() {
    {
      std::lock_guard lock(mutex);
      stopping = true;
      unwanted = true;
      jobs.clear();
      changed.notify_all();
    }
    if (thread.joinable())
      thread.join();
  }

  std::atomic<bool> unwanted{false};

private:
  /// False if the system allows no more threads: the work stays undone. Under the lock.
  bool start() {
    // Signals are for the threads of the application.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
      thread = std::thread([this] { work(); });
    } catch (const std::system_error &) { // NOLINT(bugprone-empty-catch)
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    return thread.joinable();
  }

  void work() {
    // Threads have priorities of their own on Linux. Not the lowest: a caller may have to wait for
    // the job to see that it is unwanted, on a machine that is busy with other things.
    constexpr int lowPriority = 10;
    setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), lowPriority);
    ThreadPool::WithoutWorkers alone;
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [&] { return stopping || (!paused && !jobs.empty()); });
      if (stopping)
        return;
      Job job = std::move(jobs.front());
      jobs.pop_front();
      running = job.owner;
      unwanted = false;
      lock.unlock();
      run(job);
      lock.lock();
      running = nullptr;
      changed.notify_all();
    }
  }

  /// The job is destroyed before its owner is told that it is over.
  static void run(Job &job) {
    try {
      job.run();
    } catch (...) { // NOLINT(bugprone-empty-catch)
      // Nobody asked for it; whoever needs the same later meets the error there.
    }
    job.run = nullptr;
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Job> jobs;
  const void *running = nullptr;
  bool paused = false, stopping = false;
  std::thread thread;
};

std::atomic<Worker *> worker{nullptr};

/// Before the handlers of ForkSafety.h, which were registered when the library was loaded: what a
/// job holds is free again when those wait for it.
void beforeFork() { worker.load()->pause(); }
void inParent() { worker.load()->resume(); }
void inChild() { worker.store(new Worker); } // the parent's is left as it was

/// Created for the first job. A program was compiled by then, so that the compiler's process-wide
/// objects are destroyed after the thread has ended.
Worker &theWorker() {
  static struct AtExit {
    AtExit() {
      worker.store(new Worker); // not destroyed: others may still let go of their jobs
      pthread_atfork(beforeFork, inParent, inChild);
    }
    ~AtExit() { worker.load()->stop(); }
  } made;
  return *worker.load();
}

} // namespace

void add(const void *owner, std::function<void()> job) { theWorker().add({owner, std::move(job)}); }

void cancel(const void *owner) {
  if (Worker *made = worker.load())
    made->cancel(owner);
}

void finish(const void *owner) {
  if (Worker *made = worker.load())
    made->finish(owner);
}

bool isUnwanted() {
  Worker *made = worker.load();
  return made && made->unwanted;
}

} // namespace headrace::adaptive::background
