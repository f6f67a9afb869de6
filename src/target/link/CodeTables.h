// The tables that compiled code shows of itself (package/CodeFormat.h), as object files.
#pragma once

#include "target/link/Link.h"

namespace headrace {

/// The table of the kernels, for a shared object.
std::string codeTableObject(llvm::ArrayRef<KernelObject> kernels);

/// The tables of all the code, the manifest and the weights.
std::string imageObject(const ImageParts &parts);

} // namespace headrace
