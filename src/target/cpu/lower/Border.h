// Padding that a kernel writes around what its grid computes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// Marks an operation outside of a kernel's grid. It writes padding, which no grid tile reads or
/// writes, so that it can run once, with the first tile, concurrently with the others.
inline constexpr llvm::StringLiteral kBorderAttr = "hr.border";

} // namespace headrace
