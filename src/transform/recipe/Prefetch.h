// How far ahead a kernel fetches what it reads: panels, the pieces of an operand that all rows of a
// cell use before the next one.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace headrace {

/// On an argument of a kernel: how many panels; without it, `kPanelsAhead`.
inline constexpr llvm::StringLiteral kPrefetchAttr = "hr.prefetch";
inline constexpr int64_t kPanelsAhead = 1, kMaxPanelsAhead = 4;

} // namespace headrace
