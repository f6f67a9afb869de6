// Simulates programs: their results, their time, and their faults.
#pragma once

#include "runtime/vta/CycleModel.h"
#include "runtime/vta/Program.h"

namespace headrace::vta {

/// Options of a simulation.
struct SimulatorOptions {
  /// Shuffles the order in which modules that could go on do so. Nothing that a program computes or
  /// takes depends on it: if it could, two instructions race, and that is a fault.
  uint64_t seed = 0;
  CycleConstants constants;
};

/// Totals over the instructions of a kind.
struct Work {
  std::array<int64_t, memoryCount> bytes{}; ///< moved, by memory
  int64_t macs = 0, aluOps = 0;             ///< operations on numbers
  int64_t gemmMicroOps = 0, aluMicroOps = 0;

  int64_t bytesRead() const;
  int64_t bytesWritten() const { return bytes[static_cast<size_t>(Memory::Out)]; }
};

/// The result of a simulation.
struct Simulation {
  std::vector<Instruction> instructions; ///< of the program, decoded
  std::vector<Span> spans;               ///< in cycles of the program
  int64_t cycles = 0;                    ///< of all runs, one after the other
  std::array<ModuleUse, moduleCount> modules{};
  Work work;
  std::vector<std::byte> dram; ///< after the last run
  std::optional<Fault> fault;  ///< then nothing else but `instructions` and `spans` counts

  double utilization(Module module) const;
  /// Multiplications done of those the matrix unit could have done.
  double peakShare(const Configuration &configuration) const;
};

/// Throws Error if a step is the host's, Fault never.
Simulation simulate(const Program &program, const SimulatorOptions &options = {});

/// Time and work alone: nothing is computed, and of the faults only those of time are found.
Simulation estimate(const Program &program, const CycleConstants &constants = {});

/// The cycles alone, with other constants. For programs without faults.
int64_t cyclesWith(const Program &program, const CycleConstants &constants);

} // namespace headrace::vta
