#include "explore/graph/Synthetic.h"

#include "explore/graph/Components.h"
#include "explore/graph/Graphs.h"

#include <array>
#include <bit>
#include <map>
#include <sstream>

namespace headrace::explore::test {

namespace {

// Tasks and edges first; volumes are drawn when all are known. All edges into a task carry one
// volume, and so do all out of it: edges that are bound together are a net.
class Shape {
public:
  int add(TaskKind kind = TaskKind::Compute) {
    kinds.push_back(kind);
    return static_cast<int>(kinds.size()) - 1;
  }
  void connect(int from, int to) { edges.emplace_back(from, to); }

  TaskGraph graph(const std::vector<int64_t> &input, const std::vector<int64_t> &output) const {
    std::vector<Task> tasks;
    for (size_t task = 0; task < kinds.size(); ++task)
      tasks.push_back({"t" + std::to_string(task), kinds[task], input[task], output[task], {}, ""});
    return graphOfTasks(tasks, edges);
  }

  /// Given the volume that each task reads: what it writes is what its successors read.
  TaskGraph graphReading(const std::vector<int64_t> &input) const {
    std::vector<int64_t> output = input;
    for (auto [from, to] : edges)
      output[from] = input[to];
    return graph(input, output);
  }

  /// Draws for each task in the order of a walk from the first one, unless its net has a volume.
  TaskGraph graphDrawnDepthFirst(int64_t volume, Draw &draw) const {
    size_t count = kinds.size();
    Components nets(static_cast<int>(2 * count)); // inputs, then outputs
    std::vector<std::vector<int>> successors(count);
    std::vector<bool> fed(count), visited(count);
    for (auto [from, to] : edges) {
      nets.join(static_cast<int>(count) + from, to);
      successors[from].push_back(to);
      fed[to] = true;
    }
    std::map<int, int64_t> volumes;
    auto visit = [&](auto &self, int task) -> void {
      visited[task] = true;
      int64_t &read = volumes[nets.of(task)];
      read = read == 0 ? volume : read;
      int64_t &written = volumes[nets.of(static_cast<int>(count) + task)];
      written = written == 0 ? draw.volumeAfter(read) : written;
      for (int next : successors[task])
        if (!visited[next])
          self(self, next);
    };
    for (size_t task = 0; task < count; ++task)
      if (!fed[task])
        visit(visit, static_cast<int>(task));
    std::vector<int64_t> input(count), output(count);
    for (size_t task = 0; task < count; ++task) {
      input[task] = volumes[nets.of(static_cast<int>(task))];
      output[task] =
          successors[task].empty() ? input[task] : volumes[nets.of(static_cast<int>(count + task))];
    }
    return graph(input, output);
  }

private:
  std::vector<TaskKind> kinds;
  std::vector<std::pair<int, int>> edges;
};

} // namespace

// The engine's own seeding differs from Python's, which mixes the words of the seed into a state
// made from 19650218; streams set the state.
Draw::Draw(uint32_t seed) {
  constexpr size_t size = std::mt19937::state_size;
  std::array<uint32_t, size> state;
  state[0] = 19650218;
  auto mixed = [&](size_t i, uint32_t factor) {
    return (state[i - 1] ^ (state[i - 1] >> 30)) * factor;
  };
  for (size_t i = 1; i < size; ++i)
    state[i] = mixed(i, 1812433253) + static_cast<uint32_t>(i);
  size_t i = 1;
  auto next = [&] {
    if (++i == size) {
      state[0] = state[size - 1];
      i = 1;
    }
  };
  for (size_t round = 0; round < size; ++round, next())
    state[i] = (state[i] ^ mixed(i, 1664525)) + seed;
  for (size_t round = 1; round < size; ++round, next())
    state[i] = (state[i] ^ mixed(i, 1566083941)) - static_cast<uint32_t>(i);
  state[0] = 0x80000000;
  std::stringstream words;
  for (uint32_t word : state)
    words << word << ' ';
  words << size;
  words >> engine;
}

int64_t Draw::below(int64_t count) {
  int bits = std::bit_width(static_cast<uint64_t>(count));
  int64_t drawn;
  do
    drawn = engine() >> (32 - bits);
  while (drawn >= count);
  return drawn;
}

int64_t Draw::volumeAfter(int64_t volume) {
  constexpr std::array<std::pair<int, int>, 6> rates = {
      {{1, 4}, {1, 3}, {1, 2}, {2, 1}, {3, 1}, {4, 1}}};
  if (below(3) == 0)
    return volume;
  auto [top, bottom] = rates[below(6)];
  return std::max<int64_t>(volume * top / bottom, 1);
}

TaskGraph chainGraph(int tasks, int64_t volume, Draw &draw) {
  Shape shape;
  std::vector<int64_t> input;
  for (int task = 0; task < tasks; ++task) {
    input.push_back(task == 0 ? volume : draw.volumeAfter(input.back()));
    shape.add();
    if (task > 0)
      shape.connect(task - 1, task);
  }
  return shape.graphReading(input);
}

TaskGraph fftGraph(int points, int64_t volume, Draw &draw) {
  Shape shape;
  std::vector<int64_t> input;
  int task = 0, level = 0;
  int64_t read = volume;
  for (int calls = 2; calls <= points; calls *= 2, ++level) {
    read = level == 0 ? volume : draw.volumeAfter(read);
    for (int call = 0; call < calls; ++call, ++task) {
      shape.add();
      input.push_back(read);
      if (level > 0)
        shape.connect(task / 2 - 1, task);
    }
  }
  for (int span = 1; span < points; span *= 2) {
    read = draw.volumeAfter(read);
    for (int i = 0; i < points; ++i, ++task) {
      shape.add();
      input.push_back(read);
      shape.connect(task - points, task);
      shape.connect((i & span) == 0 ? task - points + span : task - points - span, task);
    }
  }
  return shape.graphReading(input);
}

TaskGraph gaussianEliminationGraph(int size, int64_t volume, Draw &draw) {
  Shape shape;
  std::vector<int64_t> input;
  std::vector<int> rowBefore;
  for (int row = 0; row + 1 < size; ++row) {
    volume = row == 0 ? volume : draw.volumeAfter(volume);
    int pivot = shape.add();
    input.push_back(volume);
    if (row > 0)
      shape.connect(rowBefore.front(), pivot);
    std::vector<int> tasks;
    for (int column = row + 1; column < size; ++column) {
      tasks.push_back(shape.add());
      input.push_back(volume);
      shape.connect(pivot, tasks.back());
      if (row > 0)
        shape.connect(rowBefore[column - row], tasks.back());
    }
    rowBefore = tasks;
  }
  return shape.graphReading(input);
}

TaskGraph choleskyGraph(int size, int64_t volume, Draw &draw) {
  Shape shape;
  std::map<std::pair<int, int>, int> last; // the task that wrote a tile
  auto add = [&](std::initializer_list<std::pair<int, int>> reads, std::pair<int, int> writes) {
    int task = shape.add();
    for (const std::pair<int, int> &tile : reads)
      if (last.contains(tile))
        shape.connect(last[tile], task);
    last[writes] = task;
  };
  for (int k = 0; k < size; ++k) {
    for (int n = 0; n < k; ++n)
      add({{k, n}, {k, k}}, {k, k});
    add({{k, k}}, {k, k});
    for (int m = k + 1; m < size; ++m) {
      for (int n = 0; n < k; ++n)
        add({{k, n}, {m, n}, {m, k}}, {m, k});
      add({{k, k}, {m, k}}, {m, k});
    }
  }
  return shape.graphDrawnDepthFirst(volume, draw);
}

TaskGraph randomGraph(int tasks, int64_t volume, Draw &draw) {
  Shape shape;
  for (int task = 0; task < tasks; ++task) {
    shape.add(task > 0 && draw.below(10) == 0 ? TaskKind::Buffer : TaskKind::Compute);
    std::vector<int> before;
    for (int64_t wanted = task == 0 ? 0 : draw.below(4); wanted > 0; --wanted) {
      // Mostly near ones: otherwise all graphs are shallow.
      int64_t reach = draw.below(4) == 0 ? task : std::min(task, 8);
      int from = task - 1 - static_cast<int>(draw.below(reach));
      if (std::ranges::find(before, from) == before.end())
        shape.connect(from, task), before.push_back(from);
    }
  }
  return shape.graphDrawnDepthFirst(volume, draw);
}

} // namespace headrace::explore::test
