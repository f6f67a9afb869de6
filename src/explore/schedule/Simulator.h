// Simulates a schedule element by element: confirms its times, or shows where it stalls.
//
// Tasks are data-driven: each reads an element from all its inputs as soon as they are available,
// one per cycle, and writes an element to all its outputs one cycle after the last element that it
// depends on was read, as soon as there is room. It reads on only when what it has read is written;
// a task whose rate is not an integer has one register more, for elements that come unevenly. A
// simulation uses the schedule's blocks, streams and capacities, but none of its times.
#pragma once

#include "explore/schedule/Schedule.h"

#include <optional>

namespace headrace::explore {

/// One task of a deadlock: a cycle of tasks none of which can go on.
struct Wait {
  enum class For {
    Element, ///< `other` has written nothing more into the buffer between both
    Room,    ///< the buffer to `other` is full
    End      ///< `other` has not ended
  };
  int task;
  For what;
  int other;
  int64_t capacity = 0; ///< of the buffer
  int64_t moved = 0;    ///< elements that passed it
};

struct SimulatedTask {
  int64_t start = 0, end = 0;
};

struct Simulation {
  std::vector<SimulatedTask> tasks;
  int64_t makespan = 0;
  /// The circle, from a task that waits for room in the buffer to enlarge if there is one; empty
  /// if all tasks ended.
  std::vector<Wait> deadlock;
};

/// Throws Error if the graph moves more than `maxElements` elements.
Simulation simulate(const TaskGraph &graph, const Schedule &schedule,
                    int64_t maxElements = int64_t{1} << 33);

/// "deadlock: 'a' waits for room in the buffer of 3 elements to 'b', 'b' waits for ...".
std::string deadlockText(const TaskGraph &graph, const Simulation &simulation);

} // namespace headrace::explore
