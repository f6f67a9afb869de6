// Passes that ask a target; `targetPasses` of hr-opt.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace {

#define GEN_PASS_DECL
#include "target/Passes.h.inc"
#define GEN_PASS_REGISTRATION
#include "target/Passes.h.inc"

} // namespace headrace
