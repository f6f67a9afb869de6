// The functions of DeviceMath.c as LLVM's text.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace headrace::cuda {

llvm::StringRef deviceMathText();

} // namespace headrace::cuda
