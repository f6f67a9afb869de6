// Work that nobody waits for: one thread of the process, of low priority, one job at a time.
#pragma once

#include <functional>

namespace headrace::adaptive::background {

/// Queues a job for `owner`. It runs without the workers of the pool, which are left to those who
/// wait, and should end early if it is unwanted: its owner goes, the process forks or ends. What
/// it throws is lost.
void add(const void *owner, std::function<void()> job);

/// Drops the owner's jobs, and waits for the end of the one that runs.
void cancel(const void *owner);

/// Waits until the owner has no job left.
void finish(const void *owner);

/// Whether the job that runs in this thread is not needed any more.
bool isUnwanted();

} // namespace headrace::adaptive::background
