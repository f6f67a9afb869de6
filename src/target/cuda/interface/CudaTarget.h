// NVIDIA's devices as a target.
#pragma once

#include "target/Target.h"

namespace headrace {

/// The target "cuda" for a device such as "sm_90a"; with none named, the one of this machine or,
/// if there is none, the newest we know. Throws Error if there is no such device.
std::unique_ptr<const Target> makeCudaTarget(llvm::StringRef fullName, llvm::StringRef processor);

} // namespace headrace
