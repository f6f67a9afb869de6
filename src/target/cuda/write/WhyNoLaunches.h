// Why a kernel cannot be written as device functions.
#pragma once

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace headrace::cuda {

/// The reason in words; empty if it can. `kernel` is outlined and not scheduled yet.
std::string whyNoLaunches(mlir::ModuleOp kernel);

} // namespace headrace::cuda
