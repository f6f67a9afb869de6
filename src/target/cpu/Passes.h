// Passes of the CPU target.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "target/cpu/Passes.h.inc"

} // namespace headrace
