#include "runtime/vta/CycleModel.h"

#include "runtime/system/Error.h"
#include "runtime/system/Rounding.h"

#include <algorithm>
#include <deque>

namespace headrace::vta {

std::string_view nameOf(FaultKind kind) {
  switch (kind) {
  case FaultKind::IllegalInstruction:
    return "illegal instruction";
  case FaultKind::Finish:
    return "finish";
  case FaultKind::OutOfBounds:
    return "out of bounds";
  case FaultKind::ReadBeforeWrite:
    return "read before write";
  case FaultKind::WriteProtected:
    return "write protected";
  case FaultKind::Race:
    return "race";
  case FaultKind::Deadlock:
    return "deadlock";
  case FaultKind::LeftoverTokens:
    return "leftover tokens";
  case FaultKind::CycleLimit:
    return "cycle limit";
  }
  throw InternalError("no such fault");
}

std::string nameOf(const Instruction &instruction, size_t index) {
  return "instruction " + std::to_string(index) + " (" + titleOf(instruction) + ")";
}

int64_t transferredBytes(const Instruction &instruction, const Configuration &configuration) {
  if (!instruction.isTransfer())
    return 0;
  return instruction.xSize * instruction.ySize *
         static_cast<int64_t>(configuration.elementBytes(instruction.mem()));
}

int64_t ModuleUse::stalled() const {
  int64_t sum = port;
  for (int64_t cycles : waiting)
    sum += cycles;
  return sum;
}

namespace {

struct Token {
  int64_t time;
  size_t pushedBy;
};

/// Runs instructions one by one, always the one that is the next to ask for something.
class Scheduler {
public:
  Scheduler(std::span<const Instruction> instructions, const Configuration &configuration,
            const CycleConstants &constants, size_t first)
      : instructions(instructions), configuration(configuration), constants(constants),
        first(first) {
    result.spans.resize(instructions.size());
    for (size_t i = 0; i < instructions.size(); ++i)
      lane(instructions[i].module()).pending.push_back(i);
  }

  Timing run() {
    while (std::optional<Module> next = nextModule())
      if (!execute(lane(*next)))
        break;
    if (!result.fault)
      result.fault = reasonForStall();
    for (size_t m = 0; m < lanes.size(); ++m) {
      result.modules[m] = lanes[m].use;
      result.modules[m].idle = result.cycles - lanes[m].free;
    }
    return std::move(result);
  }

private:
  struct Lane {
    std::deque<size_t> pending;
    int64_t free = 0; ///< when its last instruction ended
    ModuleUse use;
  };

  Lane &lane(Module module) { return lanes[static_cast<size_t>(module)]; }
  std::deque<Token> &tokens(Queue queue) { return queues[static_cast<size_t>(queue)]; }
  const std::deque<Token> &tokens(Queue queue) const { return queues[static_cast<size_t>(queue)]; }

  // Load and compute read DRAM through one port, store writes through another.
  bool reads(const Instruction &instruction) const {
    return instruction.op() == Opcode::Load && transferredBytes(instruction, configuration) > 0;
  }

  // The time at which the tokens are available; nothing if one is missing.
  std::optional<int64_t> startOf(const Lane &lane) const {
    int64_t start = lane.free;
    for (Queue queue : instructions[lane.pending.front()].pops()) {
      if (tokens(queue).empty())
        return {};
      start = std::max(start, tokens(queue).front().time);
    }
    return start;
  }

  // The module whose next instruction is the first to ask for the port or to begin. A module that
  // runs later asks later, so the port serves in the order of asking; of two at once, load first.
  std::optional<Module> nextModule() const {
    std::optional<Module> chosen;
    int64_t earliest = 0;
    for (size_t m = 0; m < lanes.size(); ++m) {
      if (lanes[m].pending.empty())
        continue;
      std::optional<int64_t> start = startOf(lanes[m]);
      if (!start)
        continue;
      int64_t asks =
          *start + (reads(instructions[lanes[m].pending.front()]) ? constants.latency : 0);
      if (!chosen || asks < earliest) {
        chosen = static_cast<Module>(m);
        earliest = asks;
      }
    }
    return chosen;
  }

  int64_t computeCycles(const Instruction &instruction) const {
    int64_t count = std::max(int64_t{0}, instruction.microOpCount());
    switch (instruction.op()) {
    case Opcode::Gemm:
      return std::max(int64_t{1}, count * constants.gemmInterval);
    case Opcode::Alu:
      return std::max(int64_t{1}, count * constants.aluInterval);
    default:
      return 1;
    }
  }

  Span spanOf(const Instruction &instruction, int64_t start) const {
    int64_t bytes = transferredBytes(instruction, configuration);
    if (bytes == 0)
      return {start, 0, start + computeCycles(instruction)};
    int64_t asks = start + constants.latency;
    int64_t granted = reads(instruction) ? std::max(asks, readPortFree) : asks;
    int64_t cycles = dividedUp(bytes, constants.bytesPerCycle);
    return {start, granted - asks, granted + cycles};
  }

  // Takes the tokens; says which queue kept the module waiting longest.
  void account(Lane &lane, const Instruction &instruction, int64_t start) {
    std::optional<Queue> latest;
    int64_t time = lane.free;
    for (Queue queue : instruction.pops()) {
      if (tokens(queue).front().time > time) {
        time = tokens(queue).front().time;
        latest = queue;
      }
      tokens(queue).pop_front();
    }
    if (latest)
      lane.use.waiting[static_cast<size_t>(*latest)] += start - lane.free;
  }

  bool execute(Lane &lane) {
    size_t index = lane.pending.front();
    const Instruction &instruction = instructions[index];
    Span span = spanOf(instruction, *startOf(lane));
    if (span.end > constants.limit) {
      result.fault.emplace(FaultKind::CycleLimit, first + index,
                           nameOf(instruction, first + index) + " would end in cycle " +
                               std::to_string(span.end) + ", the limit is " +
                               std::to_string(constants.limit));
      return false;
    }
    account(lane, instruction, span.start);
    lane.pending.pop_front();
    lane.use.instructions += 1;
    lane.use.port += span.port;
    lane.use.busy += span.end - span.start - span.port;
    lane.free = span.end;
    if (reads(instruction))
      readPortFree = span.end;
    for (Queue queue : instruction.pushes())
      tokens(queue).push_back({span.end, index});
    result.spans[index] = span;
    result.cycles = std::max(result.cycles, span.end);
    return true;
  }

  std::optional<Fault> reasonForStall() const {
    std::string waiting;
    size_t at = instructions.size();
    for (size_t m = 0; m < lanes.size(); ++m) {
      if (lanes[m].pending.empty())
        continue;
      size_t index = lanes[m].pending.front();
      at = std::min(at, index);
      std::string missing;
      for (Queue queue : instructions[index].pops())
        if (tokens(queue).empty())
          missing += (missing.empty() ? "" : " and ") + std::string(nameOf(queue));
      waiting += (waiting.empty() ? "" : "; ") + std::string(nameOf(static_cast<Module>(m))) +
                 " waits at " + nameOf(instructions[index], first + index) + " for a token of " +
                 missing;
    }
    if (!waiting.empty())
      return Fault(FaultKind::Deadlock, first + at, waiting);
    for (size_t q = 0; q < queues.size(); ++q)
      if (!queues[q].empty()) {
        size_t index = queues[q].front().pushedBy;
        return Fault(FaultKind::LeftoverTokens, first + index,
                     std::to_string(queues[q].size()) + " in " +
                         std::string(nameOf(static_cast<Queue>(q))) + ", the first pushed by " +
                         nameOf(instructions[index], first + index));
      }
    return {};
  }

  std::span<const Instruction> instructions;
  const Configuration &configuration;
  const CycleConstants &constants;
  size_t first;
  std::array<Lane, moduleCount> lanes;
  std::array<std::deque<Token>, queueCount> queues;
  int64_t readPortFree = 0;
  Timing result;
};

} // namespace

Timing timingOf(std::span<const Instruction> instructions, const Configuration &configuration,
                const CycleConstants &constants, size_t first) {
  return Scheduler(instructions, configuration, constants, first).run();
}

} // namespace headrace::vta
