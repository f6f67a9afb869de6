// The one list of phases, and the pipeline: which passes make each of them.
#pragma once

#include "driver/Settings.h"
#include "target/Target.h"

#include "mlir/Pass/PassManager.h"

namespace headrace {

struct Phase {
  llvm::StringLiteral name;
  llvm::StringLiteral summary;
  /// Adds the passes that lead from the phase before to this one.
  void (*build)(mlir::OpPassManager &, const Target &, const Settings &);
};

llvm::ArrayRef<Phase> compilerPhases();

} // namespace headrace
