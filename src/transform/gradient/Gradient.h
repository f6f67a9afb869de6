// Attributes that the passes around differentiation share.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace {

/// Function attribute of a differentiated program: how many of its arguments and results are the
/// program's own. Further arguments are gradients of its results, further results those of its
/// inputs.
inline constexpr llvm::StringLiteral kGradientAttr = "hr.gradient";
/// On the two functions of split-gradient: for each value kept, in the order in which the backward
/// function takes them, the forward function's argument (i) or result (-1 - i) that holds it.
inline constexpr llvm::StringLiteral kKeptAttr = "hr.kept";

} // namespace headrace
