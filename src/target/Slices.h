// Kernels that can run slice by slice.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// On a kernel's module, whose target can run it in equal slices along the leading dimension of its
/// result: how many tiles its grid has along that dimension (-1: one per element), then the
/// positions of the operands, results included, that are cut along with it. All others are read as
/// a whole. On a launch: how many slices it runs in (-1: one per element), then the positions.
inline constexpr llvm::StringLiteral kSlicesAttr = "hr.slices";

} // namespace headrace
