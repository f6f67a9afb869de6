// Results that kernels write past the caches.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// On a kernel's module: the positions of the operands, results included, that it writes past the
/// caches, which could not hold them.
inline constexpr llvm::StringLiteral kStreamsAttr = "hr.streams";

} // namespace headrace
