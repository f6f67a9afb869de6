// Expected values of dynamic dimensions, as front ends know them.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// Attribute of a program's function: what each dynamic dimension is expected to be, about, so that
/// costs can be estimated; 0 if nothing is known of it. Nothing may rely on it.
inline constexpr llvm::StringLiteral kExpectedSizesAttr = "hr.expected_sizes";

} // namespace headrace
