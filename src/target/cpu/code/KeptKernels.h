// Kernels that were compiled before, found by how they are scheduled: lowering one from there to
// code takes most of a compilation's time. A record in the user's cache leads from the text of the
// scheduled kernel, and all that decides what becomes of it, to the object in the cache of objects.
// The passes are part of that: a record counts for one build of the compiler.
#pragma once

#include "target/cpu/code/CodeGen.h"

namespace headrace {

/// Null if code is not kept: in this process for CPUs that are not this machine's, for
/// kernels that may call intrinsics of the user, and without build IDs.
std::unique_ptr<CachedCode> keptKernels(llvm::ArrayRef<mlir::ModuleOp> scheduled,
                                        const Processor &processor, CodeUse use);

} // namespace headrace
