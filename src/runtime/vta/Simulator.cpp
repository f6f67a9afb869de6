#include "runtime/vta/Simulator.h"

#include "runtime/system/Error.h"
#include "runtime/system/Text.h"
#include "runtime/vta/Chip.h"

#include <numeric>
#include <random>

namespace headrace::vta {

namespace {

using Instructions = std::span<const Instruction>;

std::vector<Instruction> decodeAll(const Program &program) {
  InstructionSet set(program.configuration);
  std::vector<Instruction> instructions;
  instructions.reserve(program.instructions.size());
  for (const Word &word : program.instructions) {
    InstructionSet::Decoded decoded = set.decode(word);
    if (!decoded.instruction)
      throw Fault(FaultKind::IllegalInstruction, instructions.size(),
                  "instruction " + std::to_string(instructions.size()) + ": " + decoded.reason);
    instructions.push_back(*decoded.instruction);
  }
  return instructions;
}

void checkFinish(Instructions run, size_t first) {
  for (size_t i = 0; i + 1 < run.size(); ++i)
    if (run[i].op() == Opcode::Finish)
      throw Fault(FaultKind::Finish, first + i + 1,
                  nameOf(run[i + 1], first + i + 1) + " comes after " + nameOf(run[i], first + i));
  if (run.empty())
    throw Fault(FaultKind::Finish, first,
                "a run at instruction " + std::to_string(first) + " is empty");
  if (run.back().op() != Opcode::Finish)
    throw Fault(FaultKind::Finish, first + run.size() - 1,
                nameOf(run.back(), first + run.size() - 1) + " is the last, expected FINISH");
}

/// The instructions that the cycle model has run, by the cycle they begin in.
std::vector<size_t> inTime(const Timing &timing) {
  std::vector<size_t> indices;
  for (size_t i = 0; i < timing.spans.size(); ++i)
    if (timing.spans[i].ran())
      indices.push_back(i);
  std::ranges::sort(indices, {}, [&](size_t i) { return std::pair(timing.spans[i].start, i); });
  return indices;
}

void executeInTime(Chip &chip, const Timing &timing) {
  for (size_t index : inTime(timing))
    chip.execute(index);
}

void executeShuffled(Chip &chip, const Timing &timing, Instructions run, uint64_t seed) {
  std::array<std::deque<size_t>, moduleCount> pending;
  for (size_t i = 0; i < run.size(); ++i)
    if (timing.spans[i].ran())
      pending[static_cast<size_t>(run[i].module())].push_back(i);
  std::mt19937_64 random(seed);
  for (;;) {
    std::array<size_t, moduleCount> ready{};
    size_t count = 0;
    for (size_t m = 0; m < pending.size(); ++m)
      if (!pending[m].empty() && chip.mayBegin(pending[m].front()))
        ready[count++] = m;
    if (count == 0)
      return;
    std::deque<size_t> &chosen = pending[ready[random() % count]];
    chip.execute(chosen.front());
    chosen.pop_front();
  }
}

/// Executes a run; its results are in DRAM. A fault is found in every order, though not the same
/// one first: the earliest in time is reported.
void execute(const Program &program, Dram &dram, Instructions run, size_t first,
             const Timing &timing, uint64_t seed) {
  Dram before = dram;
  try {
    Chip chip(program.configuration, dram, run, first);
    executeShuffled(chip, timing, run, seed);
  } catch (const Fault &) {
    Chip chip(program.configuration, before, run, first);
    executeInTime(chip, timing);
    throw InternalError("a fault of a VTA program depends on the order of its modules");
  }
  if (timing.fault)
    throw *timing.fault;
}

void add(ModuleUse &sum, const ModuleUse &part) {
  sum.instructions += part.instructions;
  sum.busy += part.busy;
  sum.port += part.port;
  sum.idle += part.idle;
  for (size_t q = 0; q < sum.waiting.size(); ++q)
    sum.waiting[q] += part.waiting[q];
}

void append(Simulation &simulation, const Timing &timing, size_t first) {
  int64_t origin = simulation.cycles;
  for (size_t i = 0; i < timing.spans.size(); ++i)
    if (const Span &span = timing.spans[i]; span.ran())
      simulation.spans[first + i] = {origin + span.start, span.port, origin + span.end};
  simulation.cycles += timing.cycles;
  for (size_t m = 0; m < timing.modules.size(); ++m)
    add(simulation.modules[m], timing.modules[m]);
}

void count(Work &work, Instructions run, const Configuration &configuration) {
  for (const Instruction &instruction : run) {
    if (instruction.isTransfer())
      work.bytes[static_cast<size_t>(instruction.memory)] +=
          transferredBytes(instruction, configuration);
    if (instruction.op() == Opcode::Gemm) {
      work.gemmMicroOps += instruction.microOpCount();
      // Clearing accumulators multiplies nothing.
      work.macs +=
          instruction.reset ? 0 : instruction.microOpCount() * configuration.macsPerMicroOp();
    } else if (instruction.op() == Opcode::Alu) {
      work.aluMicroOps += instruction.microOpCount();
      work.aluOps += instruction.microOpCount() * configuration.batch() * configuration.block();
    }
  }
}

Instructions runOf(const std::vector<Instruction> &instructions, const Step &step) {
  return Instructions(instructions).subspan(step.begin, step.end - step.begin);
}

void checkSteps(const Program &program) {
  for (const Step &step : program.steps)
    if (step.onHost)
      throw Error(ErrorKind::Unsupported,
                  "expected a program of the accelerator alone, got the step " +
                      inQuotes(step.host) + " of the host");
}

} // namespace

int64_t Work::bytesRead() const {
  return std::accumulate(bytes.begin(), bytes.end(), int64_t{0}) - bytesWritten();
}

double Simulation::utilization(Module module) const {
  const ModuleUse &use = modules[static_cast<size_t>(module)];
  return cycles == 0 ? 0 : static_cast<double>(use.busy) / static_cast<double>(cycles);
}

double Simulation::peakShare(const Configuration &configuration) const {
  double most = static_cast<double>(cycles) * static_cast<double>(configuration.macsPerMicroOp());
  return cycles == 0 ? 0 : static_cast<double>(work.macs) / most;
}

Simulation simulate(const Program &program, const SimulatorOptions &options) {
  checkSteps(program);
  Simulation simulation;
  Dram dram(program);
  CycleConstants constants = options.constants;
  try {
    simulation.instructions = decodeAll(program);
    simulation.spans.resize(simulation.instructions.size());
    for (const Step &step : program.steps) {
      Instructions run = runOf(simulation.instructions, step);
      checkFinish(run, step.begin);
      constants.limit = options.constants.limit - simulation.cycles;
      Timing timing = timingOf(run, program.configuration, constants, step.begin);
      append(simulation, timing, step.begin);
      execute(program, dram, run, step.begin, timing, options.seed);
      count(simulation.work, run, program.configuration);
    }
  } catch (const Fault &fault) {
    simulation.fault = fault;
  }
  simulation.dram = std::move(dram.bytes);
  return simulation;
}

Simulation estimate(const Program &program, const CycleConstants &constants) {
  Simulation simulation;
  try {
    simulation.instructions = decodeAll(program);
    simulation.spans.resize(simulation.instructions.size());
    for (const Step &step : program.steps) {
      Instructions run = runOf(simulation.instructions, step);
      Timing timing = timingOf(run, program.configuration, constants, step.begin);
      append(simulation, timing, step.begin);
      count(simulation.work, run, program.configuration);
      if (timing.fault)
        throw *timing.fault;
    }
  } catch (const Fault &fault) {
    simulation.fault = fault;
  }
  return simulation;
}

int64_t cyclesWith(const Program &program, const CycleConstants &constants) {
  return estimate(program, constants).cycles;
}

} // namespace headrace::vta
