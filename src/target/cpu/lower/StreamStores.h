#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Function.h"

namespace headrace {

/// Writes whole lines of the buffers at these positions past the caches, in a copy of the kernel
/// that runs if the buffers begin on a line.
///
///   store <32 x float> %v, ptr %out + 128 * %i
/// becomes
///   store <32 x float> %v, ptr %out + 128 * %i, align 64, !nontemporal
///
/// Buffers that the kernel reads as well stay in the caches, and so do vectors that are not known
/// to fill lines.
void streamStores(llvm::Function &kernel, llvm::ArrayRef<int64_t> positions);

} // namespace headrace
