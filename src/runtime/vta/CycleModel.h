// The cycles at which each instruction runs, and for what modules wait. This follows from the
// instructions alone, whatever the data: the order in which a simulator visits the modules has no
// part in it.
#pragma once

#include "runtime/vta/Fault.h"
#include "runtime/vta/InstructionSet.h"

#include <optional>

namespace headrace::vta {

/// docs/vta.md tells what they stand for.
struct CycleConstants {
  int64_t bytesPerCycle = 8, latency = 64, gemmInterval = 1, aluInterval = 2;
  int64_t limit = 1'000'000'000;
};

/// Bytes that the instruction moves between DRAM and chip.
int64_t transferredBytes(const Instruction &instruction, const Configuration &configuration);

/// The cycles of one instruction. In `port` of them a transfer waits for another through the same
/// port.
struct Span {
  int64_t start = -1, port = 0, end = -1;
  bool ran() const { return end >= 0; }
};

/// Where the cycles of a module went: they add up to those of the program.
struct ModuleUse {
  int64_t instructions = 0, busy = 0;
  /// Waiting for tokens of this queue, and for the port that another module reads through.
  std::array<int64_t, queueCount> waiting{};
  int64_t port = 0;
  /// After its last instruction.
  int64_t idle = 0;

  int64_t stalled() const;
};

/// Instructions that run together, and end with FINISH.
struct Timing {
  /// One for each instruction; those that a fault kept from running did not.
  std::vector<Span> spans;
  int64_t cycles = 0;
  std::array<ModuleUse, moduleCount> modules{};
  /// Deadlock, leftover tokens, the limit. Numbers instructions from `first` on.
  std::optional<Fault> fault;
};

/// The timing of instructions without running them.
Timing timingOf(std::span<const Instruction> instructions, const Configuration &configuration,
                const CycleConstants &constants, size_t first = 0);

/// "instruction 12 (LOAD INP)".
std::string nameOf(const Instruction &instruction, size_t index);

} // namespace headrace::vta
