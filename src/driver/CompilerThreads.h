// How MLIR gets threads: from the process's own pools (runtime/system/ThreadPool.h) alone. A
// pool of MLIR's would be without threads in a forked child, and whoever waited for it would wait
// forever.
#pragma once

#include "mlir/IR/MLIRContext.h"

namespace headrace {

/// Lets passes share their work among the process's threads, end early if the work is
/// interrupted (Interruption.h), and make way for forks between them (ForkSafety.h).
void useProcessThreads(mlir::MLIRContext &context);

} // namespace headrace
