// The compiler's report on a program: data movement before and after, kernel by kernel.
#pragma once

#include "runtime/program/Program.h"

namespace headrace {

/// A kernel as the cost model expects it to run, on one thread, with size hints for dynamic
/// dimensions.
struct KernelPrediction {
  double microseconds = 0;
  /// The shares of the time that go into each resource: "memory", "cache", "arithmetic", "calls".
  std::vector<std::pair<std::string, double>> shares;
  /// No schedule moves less than `bytes` between a cache of `cacheBytes` and what lies beyond.
  struct Least {
    double cacheBytes, bytes;
  };
  std::vector<Least> least;
  /// No schedule takes less time: every operand is read and every result written once, while all
  /// arithmetic is done at full speed.
  double leastMicroseconds = 0;
  /// What the rest of the time goes into, in microseconds, as a reader is told.
  std::vector<std::pair<std::string, double>> losses = {};
};

/// The report on one kernel of a program.
struct KernelReport {
  std::string name;
  std::vector<std::string> operators;
  /// "loops", "vectors", "rows", "tiles", "walk", or the library routine.
  std::string kind;
  /// The loops of its result, outermost first; empty for library routines.
  std::string schedule;
  /// The recipe that made them, as text.
  std::string recipe;
  /// Promises of the recipe that the kernel does not keep; empty if it keeps all.
  std::string notes;
  KernelCost cost;
  int64_t workspaceBytes = 0;
  /// The engine that runs it, and why not that of the target.
  std::string where, unsupportedReason;
  /// Nothing for a program compiled elsewhere.
  std::optional<KernelPrediction> prediction = {};
  /// "tuned" if the schedule is a result of tuning; empty if the compiler or a recipe chose it.
  std::string source = {};
};

/// The report on one value in memory: an input, an output or a temporary.
struct BufferReport {
  BufferInfo::Kind kind;
  /// The input or output, or the kernel that writes the temporary.
  std::string name;
  std::string where; // the engine whose memory it is
  DimExpr bytes;
  int first = 0, last = 0; // kernels, the first and the last that use it
  /// The address of a temporary in the memory that temporaries share, if all sizes are known.
  std::optional<int64_t> offset;
};

/// One way to compute the program: how many kernels, what they move.
struct MovementReport {
  int64_t kernels = 0;
  DimExpr bytesMoved, operations, intermediateBytes;
};

/// A choice that the compiler did not make, as a step of a recipe.
struct MissedOptimization {
  std::string step, reason;
  std::optional<DimExpr> bytes; // that it would have saved
  /// What the cost model expects it to save, with size hints for dynamic dimensions.
  std::optional<double> microseconds = {};
};

/// A node of a split model whose program depends on data, so that a run has to show it.
struct UnknownNode {
  std::string node, reason;
};

/// The compiler's report on a program; `headrace explain` and `Model.explain` show it.
struct Explanation {
  std::string name;
  std::vector<std::string> symbols;
  /// One kernel per operator, every intermediate in memory.
  MovementReport before;
  MovementReport after;
  std::vector<KernelReport> kernels;
  /// Memory for temporaries and outputs with buffers shared, if all sizes are known (else -1).
  int64_t peakBytes = -1;
  int64_t constantBytes = 0;
  /// What lies in memory while the kernels run, without constants.
  std::vector<BufferReport> buffers;
  /// The program's recipe: every choice of the compiler, as text that it follows when it is given
  /// back; empty for a program compiled elsewhere.
  std::string recipe;
  /// Operators that were not fused, layouts and libraries that were not taken, and why.
  std::vector<MissedOptimization> missedOptimizations;
  /// How the kernels were planned: candidates, plans, predicted times; empty if there was no
  /// choice, or for a program compiled elsewhere.
  std::string planning;
  /// The machine parameters that choices were made with: the processor, whether they were derived
  /// or measured, and their hash; empty for a program compiled elsewhere.
  std::string rates;
  /// The nodes that a report before the first run knows nothing about, and how many others read
  /// their results.
  std::vector<UnknownNode> knownAfterRun;
  size_t followers = 0;
  /// Milliseconds spent per phase, in order; empty for a program compiled elsewhere.
  std::vector<std::pair<std::string, double>> phaseMilliseconds;
};

/// Facts for reports that the compiler knows and the program itself does not hold.
struct ProgramNotes {
  struct StepNote {
    std::string kind, schedule, recipe, notes;
    std::string unsupportedReason; // why it does not run on the target's engine
    std::optional<KernelPrediction> prediction;
    std::string source = {}; // of the schedule: "tuned", or nothing
  };
  MovementReport before;
  std::vector<StepNote> steps;
  std::string recipe;
  std::vector<MissedOptimization> missedOptimizations;
  std::string planning;
  std::string rates;
};

/// Puts both together; the phases are left to the caller.
Explanation explainProgram(const Program &program, const ProgramNotes &notes);

} // namespace headrace
