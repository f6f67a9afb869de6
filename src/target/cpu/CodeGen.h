// Machine code from kernels in the LLVM dialect, for the processor the process runs on.
#pragma once

#include "target/Target.h"

namespace headrace {

/// The processor found: vector width, registers.
Machine hostMachine();

/// Compiles every kernel module of `program` on all cores and links the code into the process.
CompiledKernels compileForHost(mlir::ModuleOp program);

} // namespace headrace
