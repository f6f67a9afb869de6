// How long a program takes by the cost model, step by step.
#pragma once

#include "runtime/program/Program.h"
#include "target/Placement.h"

namespace headrace {

/// Microseconds of each step of a program that is called again and again, for these values of its
/// symbols, on `threads` threads. `kernels` holds the scheduled kernels (phase `schedule`) that
/// `program` was built from.
std::vector<double> predictSteps(const Program &program, mlir::ModuleOp kernels,
                                 const Targets &targets, llvm::ArrayRef<int64_t> symbols,
                                 int threads);

} // namespace headrace
