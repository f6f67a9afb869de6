// The work of a CPU's kernel, as the loops of its recipe do it.
#pragma once

#include "analysis/Machine.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// The arithmetic of a scheduled kernel (level 3, with its recipe), the data that its loops read
/// again, and the parts it is shared in, for these values of the symbols. The first access to its
/// operands is left to the caller, who knows if they come from, and how many operations there
/// are in all.
Work workOfCpuKernel(mlir::ModuleOp kernel, llvm::ArrayRef<int64_t> symbols, double operations,
                     const Machine &machine);

} // namespace headrace
