// A scheduled program as plain data: its steps and buffers, with the work of each step. Its time
// is predicted from that alone, so a step of the optimizer that changes two kernels is predicted
// by replacing them here, and the other kernels are not made again.
#pragma once

#include "driver/Predict.h"
#include "runtime/program/Program.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "mlir/IR/BuiltinOps.h"

#include "optimize/Transformation.h"

namespace headrace::optimize {

struct Sequence {
  Program program; // without the data of constants
  std::vector<StepWork> works;
  /// For each constant, by its index: equal for constants that are one value.
  std::vector<const void *> constants;
  /// The values of symbols that figures are for.
  std::vector<int64_t> symbols;

  /// The steps of a program after the phase `schedule`.
  static Sequence of(mlir::ModuleOp scheduled, const Targets &targets);

  Figures figures(const Targets &targets) const;
  /// The number of the step with this name; nothing if there is none, or several.
  std::optional<size_t> find(llvm::StringRef name) const;
};

/// A part of a sequence, cut out and planned as a program of its own, as it is and as it would be.
/// Both have the same inputs and outputs, in the same order.
struct Replacement {
  const Sequence &before, &after;
  /// Steps that are in both and stay what they are; all others of `before` are replaced.
  const llvm::StringSet<> &kept;
  /// Where steps are in the program, before and after.
  const llvm::StringMap<double> &places;
};

/// The sequence with a part replaced; nothing if the part was not cut out as a whole: if steps that
/// are kept are others in it, or if a step would run before one that it reads.
std::optional<Sequence> spliced(const Sequence &whole, const Replacement &part);

} // namespace headrace::optimize
