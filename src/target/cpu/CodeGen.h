// Machine code from kernels in the LLVM dialect, for the processor the process runs on.
#pragma once

#include "target/Target.h"

namespace headrace {

/// A processor to generate code for.
struct Processor {
  std::string name;     // as LLVM spells it
  std::string features; // likewise
  Machine machine;
};

/// "native", the processor the process runs on, or a level of x86-64 ("x86-64-v3"); throws Error
/// where this machine cannot run its code.
Processor findProcessor(llvm::StringRef name);

/// Compiles every kernel module of `program` on all cores and links the code into the process.
CompiledKernels compileKernels(mlir::ModuleOp program, const Processor &processor);

} // namespace headrace
