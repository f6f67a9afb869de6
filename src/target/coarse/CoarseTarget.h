// The target "coarse:FILE": an accelerator with intrinsics of its own, which a file describes. The
// operators of level 1 that it computes are mapped to its own; all else is the host's.
#pragma once

#include "target/Target.h"

namespace headrace::coarse {

/// `file` is the path of the machine's description. Throws Error if the description is not valid;
/// without a path, as soon as anything is compiled.
std::unique_ptr<const Target> makeTarget(llvm::StringRef name, llvm::StringRef file);

} // namespace headrace::coarse
