// The walk over blocks and tasks that every way to time a schedule shares.
#pragma once

#include "explore/schedule/Schedule.h"

#include <functional>

namespace headrace::explore {

struct Neighbours {
  bool streamsIn = false, streamsOut = false;
  bool endIsWaitedFor = false; ///< by others of its block
  int64_t lastArrival = 0;     ///< the latest end of those that stream to the task
};

/// Sets `firstOutput` and `end` of a task that computes, whose `start` is known.
using TimeTask = std::function<void(int task, const Neighbours &, ScheduledTask &)>;

/// Goes through the blocks. A task starts with its block, when all who stream to it have a first
/// element for it and all others whose output it reads have ended.
std::vector<ScheduledTask> timesOf(const TaskGraph &graph, const Schedule &schedule,
                                   const TimeTask &timeTask);

/// Cycles from the start of a task that reads an element every `interval` cycles to its first
/// output, which is there one cycle after the last element it takes was read. If the rate is no
/// integer, elements come unevenly: a steady pace that begins with this one never waits for one.
inline int64_t beforeFirstOutput(const Task &task, const Fraction &interval) {
  Fraction rate = task.rate();
  return (interval * Fraction::ratio(rate.denominator() - 1, rate.numerator())).ceiling() + 1;
}

} // namespace headrace::explore
