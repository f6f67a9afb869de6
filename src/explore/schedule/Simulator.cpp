#include "explore/schedule/Simulator.h"

#include "explore/graph/Measures.h"
#include "explore/schedule/SimulatedStream.h"
#include "runtime/system/Error.h"
#include "runtime/system/Text.h"

namespace headrace::explore {

namespace {

// The progress of a task. Elements and free slots carry the time from which they are available, so
// that tasks can be simulated in any order: each computes its times from those of its neighbours.
struct State {
  explicit State(const Task &task)
      : task(&task), register_(task.rate().numerator() != 1 && task.rate().denominator() != 1) {}
  const Task *task;
  bool register_;
  int64_t gate = 0;      // earliest start
  size_t unfinished = 0; // predecessors whose end it waits for
  int64_t read = 0, written = 0, due = 0;
  int64_t lastRead = -1, lastWrite = -1, writeBefore = -1, firstRead = 0;
  int64_t dueTime = 0, dueTimeBefore = 0, dueBefore = 0; // of the latest two reads that gave output
  int64_t share = 0; // of the next output, in units of 1 / input
  bool queued = false, ended = false;
};

class Machine {
public:
  Machine(const TaskGraph &graph, const Schedule &schedule)
      : graph(graph), schedule(schedule), opened(graph.size()) {
    states.reserve(graph.size());
    for (const Task &task : graph.tasks())
      states.emplace_back(task.kind == TaskKind::Source || task.kind == TaskKind::Sink ? place
                                                                                       : task);
    streams.reserve(graph.edges().size());
    for (size_t edge = 0; edge < graph.edges().size(); ++edge)
      streams.emplace_back(schedule.edges[edge].streams ? schedule.edges[edge].capacity : 0);
    for (int task = 0; task < graph.size(); ++task)
      for (int edge : graph.edgesInto(task))
        states[task].unfinished += schedule.edges[edge].streams ? 0 : 1;
    end(graph.source(), 0);
  }

  Simulation run() {
    int64_t blockStart = 0;
    for (const std::vector<int> &block : schedule.blocks) {
      for (int task : block) {
        states[task].gate = std::max(states[task].gate, blockStart);
        opened[task] = true;
        wake(task);
      }
      while (!queue.empty()) {
        int task = queue.back();
        queue.pop_back();
        states[task].queued = false;
        advance(task);
      }
      for (int task : block) {
        if (!states[task].ended) {
          result.deadlock = circleFrom(task);
          break;
        }
        blockStart = std::max(blockStart, states[task].lastWrite);
      }
      if (!result.deadlock.empty())
        break;
    }
    result.makespan = blockStart;
    for (const State &state : states)
      result.tasks.push_back({state.firstRead, std::max<int64_t>(state.lastWrite, 0)});
    return std::move(result);
  }

private:
  void wake(int task) {
    if (states[task].queued || states[task].ended || !opened[task])
      return;
    states[task].queued = true;
    queue.push_back(task);
  }

  void end(int task, int64_t time) {
    State &state = states[task];
    state.ended = true;
    state.lastWrite = time;
    for (int edge : graph.edgesOutOf(task)) {
      if (schedule.edges[edge].streams)
        continue;
      int to = graph.edges()[edge].to;
      states[to].gate = std::max(states[to].gate, time);
      if (--states[to].unfinished == 0)
        wake(to);
    }
  }

  void advance(int task) {
    State &state = states[task];
    if (state.unfinished > 0)
      return;
    if (!state.task->computes()) {
      end(task, state.gate);
      return;
    }
    while (write(task, state) || read(task, state))
      ;
    if (state.written == state.task->output && !state.ended)
      end(task, state.lastWrite);
  }

  bool write(int task, State &state) {
    if (state.written == state.due)
      return false;
    int64_t time = std::max(state.lastWrite,
                            state.written < state.dueBefore ? state.dueTimeBefore : state.dueTime) +
                   1;
    for (int edge : graph.edgesOutOf(task))
      if (schedule.edges[edge].streams) {
        if (!streams[edge].hasRoom())
          return false;
        time = std::max(time, streams[edge].roomSince());
      }
    for (int edge : graph.edgesOutOf(task))
      if (schedule.edges[edge].streams) {
        streams[edge].write(time);
        wake(graph.edges()[edge].to);
      }
    state.writeBefore = state.lastWrite;
    state.lastWrite = time;
    ++state.written;
    return true;
  }

  bool read(int task, State &state) {
    int64_t waiting = state.due - state.written;
    if (state.read == state.task->input || waiting > (state.register_ ? 1 : 0))
      return false;
    int64_t written = state.register_ && waiting == 0 ? state.writeBefore : state.lastWrite;
    int64_t time = std::max({state.lastRead + 1, state.gate, written});
    for (int edge : graph.edgesInto(task))
      if (schedule.edges[edge].streams) {
        if (!streams[edge].hasElement())
          return false;
        time = std::max(time, streams[edge].elementSince());
      }
    for (int edge : graph.edgesInto(task))
      if (schedule.edges[edge].streams) {
        streams[edge].read(time);
        wake(graph.edges()[edge].from);
      }
    if (state.read == 0)
      state.firstRead = time;
    state.lastRead = time;
    ++state.read;
    state.share += state.task->output;
    if (int64_t outputs = state.share / state.task->input) {
      state.share %= state.task->input;
      state.dueTimeBefore = state.dueTime;
      state.dueBefore = state.due;
      state.dueTime = time;
      state.due += outputs;
    }
    return true;
  }

  // Follows what tasks wait for until one comes twice.
  std::vector<Wait> circleFrom(int task) const {
    std::vector<Wait> way;
    std::vector<int> at(graph.size(), -1);
    while (at[task] < 0) {
      at[task] = static_cast<int>(way.size());
      way.push_back(waitOf(task));
      task = way.back().other;
    }
    way.erase(way.begin(), way.begin() + at[task]);
    // If room is waited for, those before it may wait for room, too. The buffer to enlarge is
    // the last of them, whose receiver waits for something else.
    for (size_t i = 0; i < way.size(); ++i)
      if (way[i].what == Wait::For::Room && way[(i + 1) % way.size()].what != Wait::For::Room) {
        std::ranges::rotate(way, way.begin() + static_cast<std::ptrdiff_t>(i));
        break;
      }
    return way;
  }

  Wait waitOf(int task) const {
    const State &state = states[task];
    for (int edge : graph.edgesInto(task))
      if (int from = graph.edges()[edge].from; !schedule.edges[edge].streams && !states[from].ended)
        return {task, Wait::For::End, from};
    if (state.written < state.due)
      for (int edge : graph.edgesOutOf(task))
        if (schedule.edges[edge].streams && !streams[edge].hasRoom())
          return waitAt(task, Wait::For::Room, graph.edges()[edge].to, edge);
    for (int edge : graph.edgesInto(task))
      if (schedule.edges[edge].streams && !streams[edge].hasElement())
        return waitAt(task, Wait::For::Element, graph.edges()[edge].from, edge);
    throw InternalError("a simulated task waits for nothing and does not go on");
  }

  Wait waitAt(int task, Wait::For what, int other, int edge) const {
    return {task, what, other, schedule.edges[edge].capacity, streams[edge].elementsRead()};
  }

  static inline const Task place = {"", TaskKind::Source, 1, 1, {}, ""};

  const TaskGraph &graph;
  const Schedule &schedule;
  std::vector<State> states;
  std::vector<SimulatedStream> streams;
  std::vector<char> opened; // by the start of the task's block
  std::vector<int> queue;
  Simulation result;
};

} // namespace

Simulation simulate(const TaskGraph &graph, const Schedule &schedule, int64_t maxElements) {
  int64_t elements = totalVolume(graph);
  if (elements > maxElements)
    throw Error(ErrorKind::Unsupported,
                "expected a task graph that moves at most " + std::to_string(maxElements) +
                    " elements to simulate, got " + std::to_string(elements));
  return Machine(graph, schedule).run();
}

std::string deadlockText(const TaskGraph &graph, const Simulation &simulation) {
  std::string text;
  for (const Wait &wait : simulation.deadlock) {
    std::string other = inQuotes(graph.tasks()[wait.other].name);
    std::string room =
        std::to_string(wait.capacity) + (wait.capacity == 1 ? " element" : " elements");
    text += (text.empty() ? "deadlock: " : ", ") + inQuotes(graph.tasks()[wait.task].name) +
            " waits for ";
    switch (wait.what) {
    case Wait::For::Room:
      text += "room in its buffer of " + room + " to " + other;
      break;
    case Wait::For::Element:
      text += "element " + std::to_string(wait.moved) + " from " + other;
      break;
    case Wait::For::End:
      text += "the end of " + other;
      break;
    }
  }
  return text;
}

} // namespace headrace::explore
