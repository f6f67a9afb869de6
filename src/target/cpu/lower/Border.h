// Padding that a kernel writes around what its grid computes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// On an operation outside a kernel's grid: it writes what no cell reads or writes, so that it runs
/// once, with the first cell, whenever others do.
inline constexpr llvm::StringLiteral kBorderAttr = "hr.border";

} // namespace headrace
