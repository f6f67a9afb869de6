// Where kernels of a program run. Once they are outlined, each module names its target; launches,
// library calls and checks name the engine that runs them, and why it is not the one asked for.
#pragma once

#include "target/Target.h"

namespace headrace {

/// Attribute of a kernel's module: the target that compiles it.
inline constexpr llvm::StringLiteral kTargetAttr = "hr.target";
/// Attributes of launches, library calls and checks; of the program, the engine asked for.
inline constexpr llvm::StringLiteral kEngineAttr = "hr.engine";
inline constexpr llvm::StringLiteral kElsewhereAttr = "hr.elsewhere";

/// The target that a program's kernels are compiled for, and the one of the host for those that it
/// cannot run.
struct Targets {
  const Target &wanted;
  const Target &fallback;

  /// One target alone: the host runs all it is asked to.
  bool isOne() const { return wanted.engine() == fallback.engine(); }
  /// The targets that compile kernels.
  llvm::SmallVector<const Target *> all() const {
    return isOne() ? llvm::SmallVector<const Target *>{&wanted}
                   : llvm::SmallVector<const Target *>{&wanted, &fallback};
  }
  /// That of a kernel's module.
  const Target &of(mlir::ModuleOp kernel) const;
  /// The program's kernel modules that are a target's.
  llvm::SmallVector<mlir::ModuleOp> kernelsOf(mlir::ModuleOp program, const Target &target) const;
  /// Adds passes over the kernel modules of one target.
  void addPasses(mlir::OpPassManager &program, const Target &target,
                 llvm::function_ref<void(mlir::OpPassManager &kernels)> build) const;
};

} // namespace headrace
