// The work of a CPU's kernel, as the loops of its recipe do it.
#pragma once

#include "analysis/Machine.h"
#include "target/cpu/loops/CpuSchedule.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace {

/// The arithmetic of a scheduled kernel (level 3, with its recipe), the data that its loops read
/// again, and the parts it is shared in, for these values of the symbols. The first access to its
/// operands is left to the caller, who knows if they come from, and how many operations there
/// are in all.
Work workOfCpuKernel(mlir::ModuleOp kernel, llvm::ArrayRef<int64_t> symbols, double operations,
                     const Machine &machine);

/// The work of the kernel under another of its schedules; nothing if the kernel would have to be
/// formed anew for that: its weights are packed by other columns, or it walks blocks of rows.
std::optional<Work> workOfCpuKernelUnder(mlir::ModuleOp kernel, const CpuSchedule &schedule,
                                         llvm::ArrayRef<int64_t> symbols, double operations,
                                         const Machine &machine);

} // namespace headrace
