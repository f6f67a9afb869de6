// Runs the phases over a level-1 program.
#pragma once

#include "driver/Phases.h"
#include "driver/Settings.h"
#include "runtime/program/Executable.h"
#include "runtime/program/Explanation.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// A program as data, without the code of its kernels.
struct LoweredProgram {
  Program program;
  ProgramNotes notes;
};

/// Code for a package: objects of kernels that the host runs, images of all others.
struct AotCode {
  std::vector<KernelObject> objects;
  std::vector<DeviceImage> images;
};

/// Runs the phases of one target, with one set of settings.
class Compiler {
public:
  Compiler(std::shared_ptr<mlir::MLIRContext> context, const Settings &settings,
           std::string modelName);

  /// Runs the phases up to and including `last`, or all, on `program` (already imported). Throws
  /// Error if an operator cannot be compiled, InternalError if a pass fails.
  void runPhases(mlir::ModuleOp program, llvm::StringRef last = "");
  /// Runs the phases behind `done`, which left `program`, up to and including `last`.
  void continuePhases(mlir::ModuleOp program, llvm::StringRef done, llvm::StringRef last);

  /// From here on, values of level 1 after the phase `layout` have numbers
  /// (transform/kernels/ValueNumbers.h), which change nothing else.
  void numberValues() { numbersValues = true; }

  /// All phases, then code. Kernels whose code is kept between runs are scheduled in `program`
  /// afterwards, all others at the lowest level.
  std::shared_ptr<const Executable> compile(mlir::ModuleOp program);
  /// Like `compile`, but returns the program and its code apart.
  std::pair<Program, ProgramCode> compileParts(mlir::ModuleOp program);

  /// All phases, then code for a package, added to `code`. Constants may be in the context's
  /// memory.
  LoweredProgram compileAot(mlir::ModuleOp program, AotCode &code);

  /// Like `compileAot`, of a program that the phase `layout` left, without code of earlier
  /// compilations; none of this one is kept for later ones either.
  LoweredProgram compileLaidOut(mlir::ModuleOp program, AotCode &code);

  /// Each step as the target's cost model expects it to run, on `threads` threads; runs the phases
  /// up to `schedule`.
  std::vector<KernelPrediction> predict(mlir::ModuleOp program, llvm::ArrayRef<int64_t> symbols,
                                        int threads);

  /// A report of what the compiler made of `program`; lowers kernels as `compile` does.
  Explanation explain(mlir::ModuleOp program);
  /// Like `explain`, of a program that the phase `schedule` left, and which stays at that level:
  /// all but what is only known of lowered kernels (workspaces, notes).
  Explanation explainScheduled(mlir::ModuleOp program);

private:
  std::vector<Phase> phases() const;
  void runTunedPhases(llvm::ArrayRef<Phase> left, mlir::ModuleOp program, llvm::StringRef last);
  using KeptByTarget = llvm::SmallDenseMap<const Target *, std::unique_ptr<CachedCode>, 2>;
  /// All phases, except those from `schedule` on for kernels whose code is kept.
  KeptByTarget lowerUnknownKernels(mlir::ModuleOp program, CodeUse use,
                                   llvm::function_ref<void()> whenScheduled = nullptr);
  /// The lowered program, and its code for a package, added to `code`.
  LoweredProgram packagedCode(mlir::ModuleOp program, const KeptByTarget &kept, AotCode &code);
  /// Builds the lowered program, with its recipe and notes, from the IR after the last phase.
  LoweredProgram described(mlir::ModuleOp program);
  Explanation explained(mlir::ModuleOp program, std::vector<KernelPrediction> predictions,
                        const MovementReport &before);

  std::shared_ptr<mlir::MLIRContext> context;
  const Settings settings;
  std::string modelName;
  const Targets targets;
  bool numbersValues = false;
  std::vector<std::pair<std::string, double>> phaseMilliseconds;
};

} // namespace headrace
