// A program under a recipe, found by the phases of the compiler up to `schedule`: the same
// code that compiles the program, so that a plan's figures are those of the compiled program.
#pragma once

#include "driver/Compiler.h"
#include "driver/LevelOneProgram.h"

#include "mlir/IR/OwningOpRef.h"

#include "optimize/Optimizer.h"
#include "optimize/Sequence.h"
#include "optimize/Step.h"

namespace headrace::optimize {

/// A program after the phase `schedule`.
struct Plan {
  CompleteRecipe recipe;
  /// What the compiler did not do, and why.
  std::vector<MissedOptimization> missed;
  mlir::OwningOpRef<mlir::ModuleOp> program;
  Sequence sequence;
  Figures figures; // of whole programs only

  /// Why the compiler did not follow a step; empty if there is no such reason.
  std::string reasonAgainst(const std::string &step) const;
};

/// Makes plans of one program. The part of the compiler before kernels are formed runs once for all
/// recipes that say the same about it. Programs of plans are never run: large constants that the
/// compiler would make have no elements.
class Planner {
public:
  /// The sizes are values of the program's symbols.
  Planner(LevelOneProgram program, const Settings &settings, const Sizes &sizes);

  /// Throws Error if the recipe cannot be followed. Plans of recipes with steps that level 1
  /// follows take longer than others.
  Plan plan(const std::string &recipe);
  /// Likewise, while the program of the last plan is worked on.
  Plan tried(const std::string &recipe);

  /// The program after a phase, and the steps of recipes that are followed on the way to it.
  struct Checkpoint {
    llvm::StringRef phase;
    mlir::OwningOpRef<mlir::ModuleOp> program;
    std::string recipe; // the steps that phase might follow, or did
    std::vector<std::string> followed;
  };
  /// The program before kernels are formed, as a complete recipe makes it. Null if the recipe is
  /// about loops that the author wrote.
  const Checkpoint *beforeKernels(const std::string &recipe);
  /// Likewise, as another recipe makes it; valid until the next call.
  const Checkpoint &beforeKernelsUnder(const std::string &recipe);
  /// A part of such a program, planned by itself.
  Plan planPart(mlir::OwningOpRef<mlir::ModuleOp> part, const std::vector<std::string> &followed,
                const ProgramRecipe &recipe);

  const Targets &targets() const { return engines; }
  /// The program for the sizes, before any phase.
  LevelOneProgram program() const;

private:
  mlir::OwningOpRef<mlir::ModuleOp> specialized() const;
  mlir::OwningOpRef<mlir::ModuleOp> scheduled(Compiler &compiler, const std::string &recipe);
  void reachLayout(Compiler &compiler, const ProgramRecipe &recipe);
  const Checkpoint &reach(Checkpoint &checkpoint, Compiler &compiler, const ProgramRecipe &recipe,
                          const Checkpoint *before);
  Plan planOf(mlir::OwningOpRef<mlir::ModuleOp> scheduled) const;

  LevelOneProgram source;
  Settings settings;
  Sizes sizes;
  Targets engines;
  Checkpoint simplified, laidOut;
  Checkpoint triedSimplified, triedLaidOut; // of recipes that were tried since
};

} // namespace headrace::optimize
