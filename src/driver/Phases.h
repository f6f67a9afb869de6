// The phases of the compiler, and the pipeline: which passes make each of them.
#pragma once

#include "driver/Settings.h"
#include "target/Placement.h"

#include "mlir/Pass/PassManager.h"

#include <functional>

namespace headrace {

/// A named part of the compiler's pipeline.
struct Phase {
  llvm::StringRef name;
  llvm::StringRef summary;
  /// Adds the passes that lead from the phase before to this one.
  std::function<void(mlir::OpPassManager &, mlir::ModuleOp program)> build;
  /// Checks of the user's settings, and notes of them on the program, before and after the passes.
  /// They throw Error; either may be null.
  std::function<void(mlir::ModuleOp)> before, after;
};

/// The targets of kernels: the one that is asked for, and the host's.
Targets targetsOf(const Settings &settings);

/// From what the user wrote to code.
std::vector<Phase> compilerPhases(const Settings &settings);

/// Options of the passes that differentiate.
struct GradientPasses {
  /// The inputs to differentiate by, by number.
  llvm::SmallVector<int64_t> inputs;
  /// Whether results of one element have the gradient 1 rather than one that the user gives.
  bool seedScalars = true;
  /// Most bytes kept between forward and backward program; -1: what is fastest.
  int64_t budget = -1;
  /// The machine that costs are of, by its target.
  std::string target = hostTarget;
  /// Once the program is differentiated; may be null.
  std::function<void(mlir::ModuleOp)> afterwards;
};

/// From what the user wrote to a program with gradients; with `split`, to two programs. They come
/// before the compiler's own, which start again from the result.
std::vector<Phase> gradientPhases(const GradientPasses &passes, bool split);

/// Runs phases up to and including `last`, or all if it is empty. Throws Error if an operator
/// cannot be compiled, InternalError if a pass fails; returns the milliseconds of each.
/// `prepare` is given the manager of each phase before it runs; it may be null.
std::vector<std::pair<std::string, double>>
runPhases(llvm::ArrayRef<Phase> phases, mlir::ModuleOp program, const std::string &modelName,
          llvm::StringRef last = "",
          const std::function<void(const Phase &, mlir::PassManager &)> &prepare = {});

} // namespace headrace
