// The launches of a kernel as the runtime takes them.
#pragma once

#include "runtime/program/Program.h"

#include "mlir/IR/BuiltinOps.h"

namespace headrace::cuda {

std::vector<Launch> launchesOf(mlir::ModuleOp kernel);
/// Bytes of device memory that they share.
DimExpr workspaceOf(mlir::ModuleOp kernel);

} // namespace headrace::cuda
