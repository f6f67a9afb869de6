#pragma once

#include "target/Target.h"

namespace headrace {

/// "native" if no CPU is named. Throws Error if there is none of that name.
std::unique_ptr<const Target> makeCpuTarget(llvm::StringRef name, llvm::StringRef processor);

} // namespace headrace
