// How many threads run loops: a thread's own choice, or the process's. Each number has one pool of
// workers, made when it is first asked for and shared by everybody who asks for it.
#pragma once

namespace headrace {

class ThreadPool;

/// While one lives, ThreadPool::global() has this many threads for loops of this thread. 0 leaves
/// it as it is. Throws Error unless 0 to 1024.
class ThreadChoice {
public:
  explicit ThreadChoice(int threads);
  ~ThreadChoice();
  ThreadChoice(const ThreadChoice &) = delete;

private:
  ThreadPool *before;
};

/// From here on ThreadPool::global() has this many threads for everybody who has no choice of their
/// own, whatever HEADRACE_THREADS says. Throws Error unless 1 to 1024.
void setProcessThreads(int threads);

} // namespace headrace
