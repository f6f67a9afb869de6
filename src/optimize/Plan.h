// What a recipe makes of a program, found by the phases of the compiler up to `schedule`: the same
// code that compiles the program, so that a plan's figures are those of the compiled program.
#pragma once

#include "driver/Compiler.h"
#include "driver/programs/LevelOneProgram.h"

#include "optimize/Optimizer.h"
#include "optimize/Step.h"

#include "mlir/IR/OwningOpRef.h"

namespace headrace::optimize {

/// A program after the phase `schedule`.
struct Plan {
  CompleteRecipe recipe;
  Figures figures;
  Explanation explanation;
  mlir::OwningOpRef<mlir::ModuleOp> program;

  /// Why the compiler did not follow a step; empty if there is no such reason.
  std::string reasonAgainst(const std::string &step) const;
};

/// Makes plans of one program. The part of the compiler before kernels are formed runs once for all
/// recipes that say the same about it.
class Planner {
public:
  /// The sizes are values of the program's symbols.
  Planner(LevelOneProgram program, const Settings &settings, const Sizes &sizes);

  /// Throws Error if the recipe cannot be followed. Plans of recipes with steps that level 1 follows
  /// take longer than others.
  Plan plan(const std::string &recipe);

  const Targets &targets() const { return engines; }
  const std::string &name() const { return source.name; }

private:
  mlir::OwningOpRef<mlir::ModuleOp> scheduled(Compiler &compiler, const std::string &recipe);
  void makeCheckpoint(Compiler &compiler, const ProgramRecipe &recipe, const std::string &early);

  LevelOneProgram source;
  Settings settings;
  Sizes sizes;
  Targets engines;
  /// The program after the phase `layout`, and the steps that were followed on the way.
  mlir::OwningOpRef<mlir::ModuleOp> checkpoint;
  std::string checkpointRecipe;
  std::vector<std::string> followedBefore;
};

} // namespace headrace::optimize
