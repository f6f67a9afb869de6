// Kernels as programs of their own: the operators of level 1 that a kernel computes, with the
// constants that it reads, on the way from the phase `layout` to kernels. Such a program is
// planned, scheduled and compiled like any other, so that a schedule of the kernel can be tried
// alone, and what it computes is the same whatever the schedule: packed weights are not part of it.
#pragma once

#include "dialect/Hr.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace headrace {

struct KernelProgram {
  /// The name of the kernel in recipes.
  std::string name;
  /// The module of the kernel in the scheduled program.
  std::string module;
  mlir::OwningOpRef<mlir::ModuleOp> program;
  /// A hash of the operators, their attributes, types and shapes. Names and the values of large
  /// constants are left out.
  std::string fingerprint;
  /// A hash of one of the operators: a program without such an operator has no such kernel.
  std::string anchor;
};

/// The kernels of a program, in order. `laidOut` is the program after the phase `layout`, with
/// numbered values; `scheduled` what the phases up to `schedule` made of it. A kernel whose results
/// are not values of level 1 is left out.
std::vector<KernelProgram> kernelPrograms(mlir::ModuleOp laidOut, mlir::ModuleOp scheduled);

/// The hashes that kernels of this program may have as their anchor.
std::vector<std::string> possibleAnchors(mlir::ModuleOp laidOut);

} // namespace headrace
