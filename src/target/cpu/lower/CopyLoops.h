#pragma once

#include "llvm/IR/Function.h"

namespace headrace {

/// Loops that do nothing but copy vectors, or store one value everywhere, are not unrolled.
///
///   for %i = 0 to 35 { store (load <64 x float>, %x + %i), %y + %i }   stays a loop
///
/// Why: memory sets their speed, not the counting; and a kernel that concatenates dozens of tensors
/// has as many such loops one after the other, as has one that fills the padding of an image.
/// Unrolled, they are one block of thousands of memory accesses, and the code generator's scheduler
/// takes quadratic time.
void keepCopyLoops(llvm::Function &function);

} // namespace headrace
