// Every pass over levels 1 and 2: `createFooBarPass()`, and their registration for tools.
#pragma once

#include "dialect/Hr.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Pass/Pass.h"

namespace headrace {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "transform/Passes.h.inc"

} // namespace headrace
