// The target "vta" or "vta:CONFIG.json": networks of small integers on the VTA accelerator, whose
// simulator runs them. Operators that it does not take are the host's.
#pragma once

#include "target/Target.h"

namespace headrace::vta {

/// `file` is the path of a configuration; the classic one if it is empty. Throws Error if the file
/// is not a configuration.
std::unique_ptr<const Target> makeTarget(llvm::StringRef name, llvm::StringRef file);

} // namespace headrace::vta
