// PTX of device functions, by LLVM's own back end.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace headrace::cuda {

/// A device by its architecture ("sm_90a"); throws Error if it is not a known one.
struct Architecture {
  std::string name;
  int64_t multiprocessors; // of its largest common device
};
Architecture findArchitecture(llvm::StringRef name);

/// The PTX of a kernel's module at level 4.
std::string writePtx(mlir::ModuleOp kernel, const Architecture &architecture);

} // namespace headrace::cuda
