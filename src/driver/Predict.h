// How long a program takes by the cost model, step by step.
#pragma once

#include "analysis/cost/CostModel.h"
#include "runtime/program/Explanation.h"
#include "target/Placement.h"

namespace headrace {

/// A step of a program, as the cost model expects it to run.
struct StepPrediction {
  Estimate estimate;
  /// Ordered by cache size: no schedule moves less between a cache and what lies beyond it.
  std::vector<KernelPrediction::Least> least;
  /// Where its operands are found.
  std::vector<Work::Stream> accesses = {};
  /// No schedule takes less, and what the rest of the estimate goes into.
  double leastMicroseconds = 0;
  std::vector<std::pair<std::string, double>> losses = {};

  /// The prediction in the form that reports show.
  KernelPrediction report() const;
};

/// What a step does by itself, whatever runs before it.
struct StepWork {
  Work work;                                 // apart from its first accesses to operands
  std::optional<double> countedMicroseconds; // by a simulator
};

/// The work of each step for these values of the symbols. `kernels` holds the scheduled kernels
/// (phase `schedule`) that `program` was built from.
std::vector<StepWork> workOfSteps(const Program &program, mlir::ModuleOp kernels,
                                  const Targets &targets, llvm::ArrayRef<int64_t> symbols);

/// Each step of a program that is called again and again, for these values of its symbols, on
/// `threads` threads.
std::vector<StepPrediction> predictSteps(const Program &program, llvm::ArrayRef<StepWork> work,
                                         const Targets &targets, llvm::ArrayRef<int64_t> symbols,
                                         int threads);
std::vector<StepPrediction> predictSteps(const Program &program, mlir::ModuleOp kernels,
                                         const Targets &targets, llvm::ArrayRef<int64_t> symbols,
                                         int threads);

} // namespace headrace
